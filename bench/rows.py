"""Every row of the bench: what is asked of which peers, and how it is measured."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, Figures
from bench.generator import drive, figures, librdkafka_command, reqload_command
from bench.meters import memory
from bench.peers import Name, Peer, Topic, started

ALL_PEERS = (Name.FLOOR, Name.OTTLA, Name.OTTLA_PAGE_CACHE, Name.KAFKA, Name.KAFKA_FLUSH)
BROKERS = ALL_PEERS[1:]
AS_THEY_COME = (Name.FLOOR, Name.OTTLA, Name.KAFKA)
OURS_AND_KAFKA = (Name.OTTLA, Name.KAFKA)
PROMISES = (Name.OTTLA, Name.KAFKA, Name.KAFKA_FLUSH)

REST_S = 1.5  # from being ready to being idle
CALM_S = 5.0  # the same for a broker that was just given a thousand partitions

Measure = Callable[[Peer, Topic, float], Figures]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that share a table: its columns, and those of them that are compared with Kafka's."""

    title: str
    unit: str
    columns: tuple[Figure, ...]
    ratios: tuple[Figure, ...] = ()


LOAD_COLUMNS = (Figure.RATE, Figure.P50, Figure.P99, Figure.CPU, Figure.BUSY)
LATENCY_COLUMNS = (Figure.P50, Figure.P99, Figure.P999, Figure.CPU, Figure.BUSY)

START = Group(
    "A cold process",
    "",
    (Figure.READY, Figure.IDLE_RSS, Figure.IDLE_PSS, Figure.LOADED_RSS, Figure.LOADED_PSS),
    (Figure.READY, Figure.LOADED_RSS),
)
LOAD_RATIOS = (Figure.RATE, Figure.CPU)
PRODUCE = Group("Produce, one record of 100 bytes a request", "request", LOAD_COLUMNS, LOAD_RATIOS)
BULK = Group("Produce in batches of 100 KB", "request", LOAD_COLUMNS, LOAD_RATIOS)
LIBRDKAFKA = Group(
    "Produce through librdkafka (acks=all; µs a record are seconds a million records)",
    "record",
    (Figure.RATE, Figure.CPU, Figure.BUSY),
    LOAD_RATIOS,
)
FETCH = Group("Fetch", "request", LOAD_COLUMNS, LOAD_RATIOS)
END_TO_END = Group(
    "End to end at 2,000 records a second", "record", LATENCY_COLUMNS, (Figure.P50, Figure.P99)
)
NEIGHBOUR = Group(
    "One connection beside one that pipelines (latencies are the neighbour's)",
    "request",
    (Figure.RATE, Figure.P50, Figure.P99, Figure.P999),
    (Figure.P99,),
)
GROWTH = Group("Growth (acks=1)", "request", LOAD_COLUMNS, LOAD_RATIOS)
IDLE = Group("At rest", "", (Figure.IDLE,), (Figure.IDLE,))

GROUPS = (START, PRODUCE, BULK, LIBRDKAFKA, FETCH, END_TO_END, NEIGHBOUR, GROWTH, IDLE)


@dataclass(frozen=True, slots=True)
class Fill:
    """What a topic holds before it is fetched from: batches of so many records of such a size."""

    size: int
    count: int
    batches: int  # in each partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    title: str
    group: Group
    peers: tuple[Name, ...]
    quick: tuple[Name, ...] = ()
    measure: Measure
    partitions: int = 4
    fill: Fill | None = None
    durable: bool = False  # the disk's F is measured beside it
    warms_by: Figure | None = Figure.RATE  # None: it is not about a warm process
    renewed: bool = False  # each round has a new topic, else its data would burden the disk


def reqload(*flags: str) -> Measure:
    def measure(peer: Peer, topic: Topic, secs: float) -> Figures:
        timed = [*flags, "-secs", str(secs)]
        command = reqload_command(peer.address, topic.name, topic.partitions, timed)
        part = "neighbour" if "-neighbours" in flags else "load"
        return figures(drive(command, peer.pid), part)

    return measure


def librdkafka(size: int) -> Measure:
    def measure(peer: Peer, topic: Topic, secs: float) -> Figures:
        flags = ["--size", str(size), "--secs", str(secs)]
        loaded = drive(librdkafka_command(peer.address, topic.name, flags), peer.pid)
        records = loaded.report["records"]
        return {
            Figure.RATE: loaded.report["per_s"],
            Figure.CPU: loaded.spent.broker_us / records,
            Figure.BUSY: loaded.spent.beside_us / records,
        }

    return measure


def idle(*flags: str) -> Measure:
    def measure(peer: Peer, topic: Topic, secs: float) -> Figures:
        held = ["-mode", "hold", *flags, "-secs", str(secs)]
        command = reqload_command(peer.address, topic.name, topic.partitions, held)
        spent = drive(command, peer.pid, rest_s=CALM_S).spent
        return {Figure.IDLE: spent.broker_us / spent.wall_s / 1e4}

    return measure


def fill(peer: Peer, topic: Topic, what: Fill) -> None:
    flags = ["-conns", "1", "-inflight", "16", "-spread"]
    flags += ["-size", str(what.size), "-count", str(what.count)]
    flags += ["-requests", str(what.batches * topic.partitions)]
    drive(reqload_command(peer.address, topic.name, topic.partitions, flags), peer.pid)


def cold(name: Name, folder: Path, secs: float) -> Figures:
    """One life of a process: start, rest, load of both kinds, and what it then holds."""
    with started(name, folder) as peer:
        time.sleep(REST_S)
        idle_memory = memory(peer.pid)
        topic = Topic("cold")
        peer.fresh(topic)
        reqload("-conns", "100")(peer, topic, secs)
        reqload("-conns", "4", "-size", "1000", "-count", "100", "-acks", "-1")(peer, topic, secs)
        reqload("-mode", "fetch", "-conns", "8")(peer, topic, secs)
        loaded = memory(peer.pid)
        return {
            Figure.READY: peer.ready_s,
            Figure.IDLE_RSS: idle_memory.rss_mib,
            Figure.IDLE_PSS: idle_memory.pss_mib,
            Figure.LOADED_RSS: loaded.rss_mib,
            Figure.LOADED_PSS: loaded.pss_mib,
        }


def _single(conns: int, acks: str, *flags: str) -> Measure:
    return reqload("-conns", str(conns), "-acks", "-1" if acks == "all" else acks, *flags)


def _produce_rows() -> list[Row]:
    rows = []
    for acks in ("1", "all"):
        for conns in (1, 16, 100):
            in_quick = AS_THEY_COME if acks == "1" else PROMISES
            rows.append(
                Row(
                    name=f"produce-{conns}-acks-{acks}",
                    title=f"{conns} connection{'s' if conns > 1 else ''}, acks={acks}",
                    group=PRODUCE,
                    peers=ALL_PEERS,
                    quick=in_quick if acks == "1" or conns > 1 else (),
                    measure=_single(conns, acks),
                    durable=acks == "all",
                )
            )
    rows += [
        Row(
            name="produce-16x5-acks-all",
            title="16 connections, 5 in flight each, acks=all",
            group=PRODUCE,
            peers=ALL_PEERS,
            quick=OURS_AND_KAFKA,
            measure=_single(16, "all", "-inflight", "5"),
            durable=True,
        ),
        Row(
            name="produce-64-partitions",
            title="64 partitions dirty at once (64 connections), acks=all",
            group=PRODUCE,
            peers=ALL_PEERS,
            measure=_single(64, "all"),
            partitions=64,
            durable=True,
        ),
    ]
    for acks in ("1", "all"):
        rows.append(
            Row(
                name=f"produce-16-tailed-acks-{acks}",
                title=f"16 connections beside a consumer that tails the topic, acks={acks}",
                group=PRODUCE,
                peers=BROKERS,
                measure=_single(16, acks, "-tail"),
                durable=True,
            )
        )
    return rows


def _batch_rows() -> list[Row]:
    bulk = Row(
        name="produce-100kb-acks-1",
        title="4 connections, acks=1",
        group=BULK,
        peers=AS_THEY_COME,
        quick=OURS_AND_KAFKA,
        measure=reqload("-conns", "4", "-size", "1000", "-count", "100"),
        renewed=True,
    )
    rows = [bulk]
    for label, size in (("100 B", 100), ("1 KB", 1000)):
        rows.append(
            Row(
                name=f"librdkafka-{size}",
                title=f"values of {label}",
                group=LIBRDKAFKA,
                peers=BROKERS,
                quick=OURS_AND_KAFKA if size == 100 else (),
                measure=librdkafka(size),
                durable=True,
                renewed=size == 1000,
            )
        )
    return rows


def _fetch_rows() -> list[Row]:
    # The highest offset asked for leaves a whole answer behind it.
    large = ("-mode", "fetch", "-conns", "8", "-max", str(1 << 20), "-offsets", str(14 * 960))
    small = ("-mode", "fetch", "-conns", "16", "-max", "1024", "-offsets", "19000")
    return [
        Row(
            name="fetch-1mib",
            title="1 MiB on 8 connections",
            group=FETCH,
            peers=AS_THEY_COME,
            quick=AS_THEY_COME,
            measure=reqload(*large),
            fill=Fill(size=1000, count=16, batches=1000),
        ),
        Row(
            name="fetch-1kb",
            title="1 KB on 16 connections",
            group=FETCH,
            peers=AS_THEY_COME,
            quick=AS_THEY_COME,
            measure=reqload(*small),
            fill=Fill(size=80, count=10, batches=2000),
        ),
    ]


def _latency_rows() -> list[Row]:
    rows = []
    for acks, flag in (("1", "1"), ("all", "-1")):
        rows.append(
            Row(
                name=f"end-to-end-acks-{acks}",
                title=f"acks={acks}",
                group=END_TO_END,
                peers=BROKERS,
                quick=OURS_AND_KAFKA,
                measure=reqload("-mode", "e2e", "-conns", "4", "-rate", "2000", "-acks", flag),
                durable=True,
                warms_by=Figure.P50,
            )
        )
    rows.append(
        Row(
            name="neighbour",
            title="5,000 requests in flight on the one, 1 on the other, acks=1",
            group=NEIGHBOUR,
            peers=AS_THEY_COME,
            quick=OURS_AND_KAFKA,
            measure=reqload("-conns", "1", "-inflight", "5000", "-neighbours", "1"),
        )
    )
    return rows


def _growth_rows() -> list[Row]:
    rows = []
    # Those of a thousand partitions come last: deleting them works on behind the next row.
    for conns in (10, 1000):
        rows.append(
            Row(
                name=f"connections-{conns}",
                title=f"{conns:,} connections",
                group=GROWTH,
                peers=ALL_PEERS[:4],
                quick=(Name.OTTLA,),
                measure=reqload("-conns", str(conns)),
            )
        )
    for partitions in (1, 100, 1000):
        rows.append(
            Row(
                name=f"partitions-{partitions}",
                title=f"16 connections over {partitions:,} partition{'s' * (partitions > 1)}",
                group=GROWTH,
                peers=ALL_PEERS[:4],
                quick=() if partitions == 100 else (Name.OTTLA,),
                measure=reqload("-conns", "16", "-spread"),
                partitions=partitions,
            )
        )
    rows.append(
        Row(
            name="idle",
            title="1,000 partitions and 1,000 connections",
            group=IDLE,
            peers=OURS_AND_KAFKA,
            quick=(Name.OTTLA,),
            measure=idle("-conns", "1000"),
            partitions=1000,
            warms_by=None,
        )
    )
    return rows


ROWS: tuple[Row, ...] = (
    *_produce_rows(),
    *_batch_rows(),
    *_fetch_rows(),
    *_latency_rows(),
    *_growth_rows(),
)
# These have no place among the others: each round is a process of its own.
COLD_ROW = "cold"
COLD_PEERS = AS_THEY_COME
