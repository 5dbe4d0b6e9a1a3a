"""The asyncio shell over real sockets, with the model of the brokers behind them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from ottla.client.errors import BufferFull, ClientError
from ottla.client.positions import End, Start
from ottla.client.settings import BackoffSettings, ClientSettings, ProducerSettings
from ottla.client.shell import Client, ConsumedRecord, RecordMetadata
from ottla.errors import ErrorCode
from tests.frames import complete_frames
from tests.unit.client.model import ModelCluster
from tests.unit.client.wires import answer_frames

Scene = Callable[[ModelCluster, str], Awaitable[None]]


@asynccontextmanager
async def served(model: ModelCluster) -> AsyncIterator[str]:
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        heard = bytearray()
        while data := await reader.read(65_536):
            heard += data
            frames, used = complete_frames(memoryview(bytes(heard)))
            del heard[:used]
            writer.write(answer_frames(model, 1, frames))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    model.addresses[1] = (host, port)
    try:
        yield f"{host}:{port}"
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await server.wait_closed()


def play(scene: Scene) -> None:
    async def main() -> None:
        model = ModelCluster()
        async with served(model) as bootstrap:
            await scene(model, bootstrap)

    asyncio.run(asyncio.wait_for(main(), 60))


async def values(
    client: Client, topic: str, start: Start = "earliest", end: End = "latest"
) -> list[bytes | None]:
    return [record.value async for record in client.consume(topic, start=start, end=end)]


def test_a_record_goes_there_and_back() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        async with await Client.connect(bootstrap) as client:
            created = await client.create_topic("t", 2)
            assert created.partitions == 2
            where = await client.produce(
                "t", b"x", key=b"k", headers=[("h", b"v")], partition=1, timestamp_ms=5
            )
            assert where == RecordMetadata("t", 1, 0, 5)
            records = [record async for record in client.consume("t", end="latest")]
            (record,) = records
            assert record._replace(headers=list(record.headers)) == ConsumedRecord(
                "t", 1, 0, 5, b"k", b"x", [("h", b"v")]
            )

    play(scene)


def test_many_records_are_sent_without_waiting_and_flushed() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        async with await Client.connect(bootstrap) as client:
            futures = [client.produce_nowait("t", b"%d" % n) for n in range(2_000)]
            await client.flush()
            assert [future.result().offset for future in futures] == list(range(2_000))
        assert model.log("t").values() == [b"%d" % n for n in range(2_000)]

    play(scene)


def test_leaving_the_client_delivers_what_was_sent() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        async with await Client.connect(bootstrap) as client:
            client.produce_nowait("t", b"x")
        assert model.log("t").values() == [b"x"]

    play(scene)


def test_flush_raises_what_nobody_awaited() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        model.log("t").answers.append((ErrorCode.INVALID_RECORD, False))
        async with await Client.connect(bootstrap) as client:
            client.produce_nowait("t", b"x")
            with pytest.raises(ClientError, match=r"Produce: t-0: 127.0.0.1:.*INVALID_RECORD"):
                await client.flush()
            await client.flush()

    play(scene)


def test_an_awaited_failure_is_raised_once() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        model.log("t").answers.append((ErrorCode.UNKNOWN_SERVER_ERROR, False))
        async with await Client.connect(bootstrap) as client:
            with pytest.raises(ClientError, match="may have been written"):
                await client.produce("t", b"x")
            await client.flush()

    play(scene)


def test_produce_waits_for_room() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        settings = ProducerSettings(buffer_bytes_max=1_000)
        async with await Client.connect(bootstrap, producer=settings) as client:
            sending = [client.produce("t", b"x" * 400) for _ in range(20)]
            assert len(await asyncio.gather(*sending)) == 20
            client.produce_nowait("t", b"x" * 800)
            with pytest.raises(BufferFull):
                client.produce_nowait("t", b"x" * 800)

    play(scene)


def test_reading_waits_for_records_that_come_later() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        async with await Client.connect(bootstrap) as client:
            records = client.consume("t")
            waiting = asyncio.ensure_future(anext(records))
            await client.produce("t", b"x")
            assert (await waiting).value == b"x"
            await records.aclose()

    play(scene)


def test_offsets_bound_what_is_read() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        async with await Client.connect(bootstrap) as client:
            for number in range(5):
                await client.produce("t", b"%d" % number)
            assert await values(client, "t", start=1, end=3) == [b"1", b"2"]
            assert await values(client, "t", start="latest") == []

    play(scene)


def test_a_fetch_error_names_partition_offset_and_cause() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        async with await Client.connect(bootstrap) as client:
            await client.produce("t", b"x")
            base, end, batch = model.log("t").batches[0]
            model.log("t").batches[0] = (base, end, batch[:-1] + b"!")
            with pytest.raises(ClientError, match=r"Fetch: t-0 at offset 0: .*CORRUPT_MESSAGE"):
                await values(client, "t")

    play(scene)


def test_topics_are_listed_described_and_deleted() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        async with await Client.connect(bootstrap) as client:
            await client.create_topic("a", 3)
            await client.create_topic("b")
            assert [topic.name for topic in await client.list_topics()] == ["a", "b"]
            assert list((await client.describe_topic("a")).partitions) == [0, 1, 2]
            with pytest.raises(ClientError, match="'a': it is there"):
                await client.create_topic("a")
            await client.delete_topic("a")
            with pytest.raises(ClientError, match="UNKNOWN_TOPIC_OR_PARTITION"):
                await client.describe_topic("a")
            assert (await client.metadata()).cluster_id == "model"

    play(scene)


def test_connecting_to_nobody_fails_and_names_the_address() -> None:
    async def main() -> None:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        with pytest.raises(ClientError, match=f"127.0.0.1:{port}: Connection refused"):
            await Client.connect(f"127.0.0.1:{port}")

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("text", ["", "host:port", "host:0", "host:70000", ":9092", "a:1,,b:2"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    async def main() -> None:
        with pytest.raises(ClientError, match="no host:port"):
            await Client.connect(text)

    asyncio.run(main())


def test_a_closed_client_says_so() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        client = await Client.connect(bootstrap)
        pending = client.produce_nowait("t", b"x")
        await client.close()
        with pytest.raises(ClientError, match="closed"):
            await pending
        with pytest.raises(ClientError, match="closed"):
            await client.list_topics()

    play(scene)


def test_a_broken_connection_is_made_again() -> None:
    async def scene(model: ModelCluster, bootstrap: str) -> None:
        model.create("t")
        settings = ClientSettings(reconnect=BackoffSettings(1, 1), backoff=BackoffSettings(1, 1))
        async with await Client.connect(bootstrap, settings=settings) as client:
            await client.produce("t", b"a")
            for link in list(client._links.values()):
                assert link.transport is not None
                link.transport.abort()
            await client.produce("t", b"b")
        assert model.log("t").values() == [b"a", b"b"]

    play(scene)
