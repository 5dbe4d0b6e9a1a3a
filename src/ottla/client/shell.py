"""The client for programs: the core of `core.py` over asyncio's sockets and clocks."""

import asyncio
import os
import random
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Self, TypeVar, cast

import msgspec

from ottla.client import admin
from ottla.client.cluster import Topic
from ottla.client.consumer import Fetcher
from ottla.client.core import ClientCore
from ottla.client.errors import BufferFull, ClientError
from ottla.client.network import Close, Dial, Write
from ottla.client.positions import End, Start
from ottla.client.producer import Delivery, Headers, Producer
from ottla.client.settings import ClientSettings, FetchSettings, ProducerSettings
from ottla.errors import ErrorCode
from ottla.names import Now, TopicPartition
from ottla.protocol.schema.create_topics import CreateTopicsResponse
from ottla.protocol.schema.delete_topics import DeleteTopicsResponse
from ottla.protocol.schema.describe_cluster import DescribeClusterResponse
from ottla.protocol.schema.describe_configs import DescribeConfigsResponse
from ottla.protocol.schema.metadata import MetadataResponse

DEFAULT_PORT = 9092
# A clock that is read as whole milliseconds shows a deadline late, never early.
TIMER_SLACK_S = 0.0005

Response = TypeVar("Response", bound=msgspec.Struct)


class RecordMetadata(NamedTuple):
    """Where a record went. With acks=0 nobody says at which offset: -1."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class ConsumedRecord(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class _Link(asyncio.Protocol):
    """One connection of the core."""

    def __init__(self, client: "Client", number: int) -> None:
        self._client = client
        self._number = number
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._client._core.dialed(self._number, self._client._now())
        self._client._turn_soon()

    def data_received(self, data: bytes) -> None:
        self._client._core.received(self._number, data, self._client._now())
        self._client._turn_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        why = str(exc) if exc else "the broker closed the connection"
        self._client._lost_link(self._number, why)

    def pause_writing(self) -> None:
        self._client._core.writable(self._number, False, self._client._now())

    def resume_writing(self) -> None:
        self._client._core.writable(self._number, True, self._client._now())
        self._client._turn_soon()


class Client:
    """Use it as `async with await Client.connect("127.0.0.1:9092") as client:`."""

    def __init__(
        self, bootstrap: str, settings: ClientSettings, producer: ProducerSettings
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._bootstrap = _addresses(bootstrap)
        self._core = ClientCore(self._bootstrap, settings, random.random)
        self._producer_settings = producer
        self._producer: Producer | None = None
        self._links: dict[int, _Link] = {}
        self._dialing: dict[int, asyncio.Task[None]] = {}
        self._sent: dict[int, asyncio.Future[RecordMetadata]] = {}
        self._calls: dict[int, tuple[str, asyncio.Future[msgspec.Struct]]] = {}
        # Everybody who waits for something to have happened.
        self._waiting: list[asyncio.Future[None]] = []
        self._failed: list[ClientError] = []
        self._is_turn_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._broken: BaseException | None = None
        self._is_closed = False

    @classmethod
    async def connect(
        cls,
        bootstrap: str,
        *,
        client_id: str = "ottla",
        producer: ProducerSettings | None = None,
        settings: ClientSettings | None = None,
    ) -> Self:
        """`bootstrap` is "host:port,host:port". Fails once none of these answered."""
        settings = settings or ClientSettings(client_id=client_id)
        client = cls(bootstrap, settings, producer or ProducerSettings())
        try:
            await client._ask_cluster(attempts_max=len(client._bootstrap))
        except BaseException:
            await client.close()
            raise
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                await self.flush()
        finally:
            await self.close()

    async def close(self) -> None:
        """At once: what was not delivered fails. `flush` first to wait for it."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._dialing.values()):
            task.cancel()
        for link in list(self._links.values()):
            if link.transport is not None:
                link.transport.close()
        self._fail_all(ClientError("Close", "the client was closed", ErrorCode.NETWORK_EXCEPTION))
        await asyncio.sleep(0)

    # Producing

    def produce_nowait(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """BufferFull if there is no room. Who does not await the future hears from `flush`."""
        self._check_open()
        if self._producer is None:
            self._producer = self._core.producer(self._producer_settings)
        send_id = self._producer.send(
            topic,
            value,
            self._now(),
            key=key,
            headers=headers,
            partition=partition,
            timestamp_ms=timestamp_ms,
        )
        future: asyncio.Future[RecordMetadata] = self._loop.create_future()
        self._sent[send_id] = future
        self._turn_soon()
        return future

    async def produce(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        """Waits for room, then until the record is where `acks` wants it."""
        while True:
            try:
                future = self.produce_nowait(
                    topic,
                    value,
                    key=key,
                    headers=headers,
                    partition=partition,
                    timestamp_ms=timestamp_ms,
                )
            except BufferFull:
                await self._something()
            else:
                break
        try:
            return await future
        except ClientError as error:
            self._failed = [other for other in self._failed if other is not error]
            raise

    async def flush(self) -> None:
        """Until all that was sent has met its fate; raises the first failure nobody awaited."""
        if self._producer is not None:
            self._producer.flush()
            self._turn_soon()
            while not self._producer.is_idle:
                await self._something()
        failed, self._failed = self._failed, []
        if failed:
            raise failed[0]

    # Consuming

    async def consume(
        self,
        topic: str,
        partitions: Sequence[int] | None = None,
        start: Start = "earliest",
        end: End = None,
        *,
        settings: FetchSettings | None = None,
    ) -> AsyncGenerator[ConsumedRecord, None]:
        """Records of some or all partitions, from `start` until `end`, or for ever."""
        if partitions is None:
            partitions = list((await self.describe_topic(topic)).partitions)
        fetcher = self._core.fetcher(settings or FetchSettings())
        try:
            for partition in partitions:
                fetcher.assign(TopicPartition(topic, partition), start, end)
            while True:
                for where, records, _, _ in fetcher.take_fetched():
                    for record in records:
                        yield ConsumedRecord(where.topic, where.partition, *record)
                self._turn_soon()
                _raise_fetch_error(fetcher)
                if fetcher.is_finished:
                    return
                if not fetcher.buffered_bytes:
                    await self._something()
        finally:
            if not self._is_closed:
                self._core.close_fetcher(fetcher, self._now())
                self._turn_soon()

    # Topics and the cluster

    async def create_topic(
        self,
        name: str,
        partitions: int = admin.BROKERS_CHOICE,
        replication_factor: int = admin.BROKERS_CHOICE,
        configs: Mapping[str, str] | None = None,
    ) -> admin.CreatedTopic:
        new = admin.NewTopic(name, partitions, replication_factor, configs or {})
        request = admin.create_topics([new], self._core.settings.request_timeout_ms)
        response = await self._call("CreateTopics", CreateTopicsResponse, request, once=True)
        return admin.created_topics(response)[0]

    async def delete_topic(self, name: str) -> None:
        request = admin.delete_topics([name], self._core.settings.request_timeout_ms)
        response = await self._call("DeleteTopics", DeleteTopicsResponse, request, once=True)
        admin.check_deleted(response)

    async def list_topics(self) -> list[Topic]:
        response = await self._call("Metadata", MetadataResponse, admin.list_topics())
        return admin.listed_topics(response)

    async def describe_topic(self, name: str) -> Topic:
        response = await self._call("Metadata", MetadataResponse, admin.describe_topics([name]))
        return admin.listed_topics(response)[0]

    async def topic_configs(self, name: str) -> list[admin.ConfigEntry]:
        request = admin.describe_topic_configs(name)
        response = await self._call("DescribeConfigs", DescribeConfigsResponse, request)
        return admin.described_configs(response)

    async def metadata(self) -> admin.Cluster:
        return await self._ask_cluster()

    async def _ask_cluster(self, attempts_max: int | None = None) -> admin.Cluster:
        request = admin.describe_cluster()
        response = await self._call(
            "DescribeCluster", DescribeClusterResponse, request, attempts_max=attempts_max
        )
        return admin.described_cluster(response)

    async def _call(
        self,
        api: str,
        kind: type[Response],
        request: msgspec.Struct,
        *,
        once: bool = False,
        attempts_max: int | None = None,
    ) -> Response:
        self._check_open()
        call_id = self._core.calls.call(request, self._now(), once=once, attempts_max=attempts_max)
        future: asyncio.Future[msgspec.Struct] = self._loop.create_future()
        self._calls[call_id] = api, future
        self._turn_soon()
        response = await future
        assert isinstance(response, kind)
        return response

    # The turn: what came in goes through the core, and what it wants is done

    def _now(self) -> Now:
        return Now(int(self._loop.time() * 1000), int(time.time() * 1000))

    def _turn_soon(self) -> None:
        """Once for all that happens before the loop comes around."""
        if not self._is_turn_due and not self._is_closed:
            self._is_turn_due = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._is_turn_due = False
        if self._is_closed:
            return
        try:
            self._core.run(self._now())
            self._carry_out()
            self._hand_out()
        except BaseException as error:
            # A mistake of ours: nobody may wait for what will never come.
            self._broken = error
            self._is_closed = True
            self._fail_all(ClientError("Client", f"broken: {error!r}"))
            raise
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline_ms = self._core.next_deadline_ms()
        if deadline_ms is not None:
            self._timer = self._loop.call_at(deadline_ms / 1000 + TIMER_SLACK_S, self._turn)

    def _carry_out(self) -> None:
        for effect in self._core.take_effects():
            match effect:
                case Write(link, parts):
                    transport = self._links[link].transport
                    if transport is not None:
                        transport.writelines(cast("list[bytes]", parts))
                case Dial(link, host, port):
                    self._dialing[link] = self._loop.create_task(self._dial(link, host, port))
                case Close(link):
                    self._hang_up(link)

    async def _dial(self, number: int, host: str, port: int) -> None:
        link = self._links[number] = _Link(self, number)
        try:
            await self._loop.create_connection(lambda: link, host, port)
        except OSError as error:
            # Names that cannot be resolved come with numbers below zero.
            number_of_system = error.errno or 0
            why = os.strerror(number_of_system) if number_of_system > 0 else str(error)
            self._lost_link(number, why)
        finally:
            self._dialing.pop(number, None)

    def _hang_up(self, number: int) -> None:
        task = self._dialing.pop(number, None)
        if task is not None:
            task.cancel()
        link = self._links.pop(number, None)
        if link is not None and link.transport is not None:
            link.transport.abort()

    def _lost_link(self, number: int, why: str) -> None:
        if self._links.pop(number, None) is not None and not self._is_closed:
            self._core.closed(number, why, self._now())
            self._turn_soon()

    def _hand_out(self) -> None:
        for delivery in self._producer.take_results() if self._producer else ():
            self._deliver(delivery)
        for call_id, response, why, maybe_done in self._core.calls.take_results():
            api, call = self._calls.pop(call_id)
            if call.done():
                continue
            if response is not None:
                call.set_result(response)
            else:
                why += "; it may have been done" if maybe_done else ""
                call.set_exception(ClientError(api, why, ErrorCode.NETWORK_EXCEPTION))
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _deliver(self, delivery: Delivery) -> None:
        _, topic, partition, offset, timestamp_ms, code, why, maybe_written = delivery
        future = self._sent.pop(delivery.send_id)
        if code == ErrorCode.NONE:
            if not future.done():
                future.set_result(RecordMetadata(topic, partition, offset, timestamp_ms))
            return
        why += "; it may have been written" if maybe_written else ""
        where = topic if partition < 0 else f"{topic}-{partition}"
        error = ClientError("Produce", f"{where}: {why}", code)
        self._failed.append(error)
        _fail(future, error)

    async def _something(self) -> None:
        """Until the next turn has been."""
        self._check_open()
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(future)
        await future

    def _check_open(self) -> None:
        if self._broken is not None:
            raise ClientError("Client", f"broken: {self._broken!r}")
        if self._is_closed:
            raise ClientError("Client", "the client was closed", ErrorCode.NETWORK_EXCEPTION)

    def _fail_all(self, error: ClientError) -> None:
        futures: list[asyncio.Future[RecordMetadata] | asyncio.Future[msgspec.Struct]] = [
            *self._sent.values(),
            *(future for _, future in self._calls.values()),
        ]
        for future in futures:
            _fail(future, error)
        for waiting in self._waiting:
            _fail(waiting, error)
        self._sent.clear()
        self._calls.clear()
        self._waiting.clear()


def _fail(
    future: asyncio.Future[RecordMetadata] | asyncio.Future[msgspec.Struct] | asyncio.Future[None],
    error: ClientError,
) -> None:
    if not future.done():
        future.set_exception(error)
        # Whoever does not await it is told by `flush`, not by a log line at some later time.
        future.exception()


def _raise_fetch_error(fetcher: Fetcher) -> None:
    for error in fetcher.take_errors():
        raise ClientError(
            "Fetch", f"{error.where} at offset {error.offset}: {error.why}", error.code
        )


def _addresses(bootstrap: str) -> list[tuple[str, int]]:
    addresses = []
    for text in bootstrap.split(","):
        host, colon, port = text.strip().rpartition(":")
        if not colon or host.endswith(":"):
            host, port = text.strip(), str(DEFAULT_PORT)
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise ClientError("Connect", f"{text!r} is no host:port", ErrorCode.INVALID_REQUEST)
        addresses.append((host.strip("[]"), int(port)))
    return addresses
