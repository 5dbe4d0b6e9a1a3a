"""Many records under way at once, and a count of those that arrived."""

from asyncio import Future
from collections import deque
from typing import NamedTuple

from ottla.cli.progress import Progress
from ottla.client.errors import BufferFull, ClientError
from ottla.client.producer import Headers
from ottla.client.shell import Client, RecordMetadata

# Each costs memory beside its bytes.
UNDER_WAY_MAX = 50_000


class Undelivered(Exception):
    """The record of this number, from 1, did not arrive."""

    def __init__(self, number: int, cause: ClientError) -> None:
        super().__init__(f"record {number}: {cause}")
        self.number = number
        self.cause = cause


class _UnderWay(NamedTuple):
    number: int
    size: int
    future: "Future[RecordMetadata]"


class Sender:
    def __init__(self, client: Client, topic: str, progress: Progress) -> None:
        self.sent = 0
        self.arrived = 0
        self.arrived_bytes = 0
        # Records that arrived in each partition, and the last offset there.
        self.partitions: dict[int, tuple[int, int]] = {}
        self._client = client
        self._topic = topic
        self._progress = progress
        self._under_way: deque[_UnderWay] = deque()

    async def send(
        self,
        value: bytes | None,
        size: int,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Waits while there is no room. `size` is what it counts for."""
        self.sent += 1
        if len(self._under_way) >= UNDER_WAY_MAX:
            await self._settle_oldest()
        while True:
            try:
                future = self._client.produce_nowait(
                    self._topic, value, key=key, headers=headers, partition=partition
                )
            except BufferFull:
                await self._settle_oldest()
            except ClientError as error:
                raise Undelivered(self.sent, error) from error
            else:
                break
        self._under_way.append(_UnderWay(self.sent, size, future))

    async def settle(self) -> None:
        """Until all that was sent has arrived, or one has not."""
        while self._under_way:
            await self._settle_oldest()

    def count_arrived(self) -> None:
        """Behind a record that did not arrive there may be others that did."""
        for record in self._under_way:
            if record.future.done() and record.future.exception() is None:
                self._count(record)
        self._under_way.clear()

    async def _settle_oldest(self) -> None:
        oldest = self._under_way.popleft()
        try:
            await oldest.future
            self._count(oldest)
            while self._under_way and self._under_way[0].future.done():
                oldest = self._under_way.popleft()
                oldest.future.result()
                self._count(oldest)
        except ClientError as error:
            raise Undelivered(oldest.number, error) from error
        self._progress.update(self.arrived_bytes, self.arrived, self.arrived_bytes)

    def _count(self, record: _UnderWay) -> None:
        where = record.future.result()
        self.arrived += 1
        self.arrived_bytes += record.size
        count, _ = self.partitions.get(where.partition, (0, 0))
        self.partitions[where.partition] = count + 1, where.offset
