"""One partition as this broker hosts it: its log, its high watermark, and who waits for either."""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, cast

from ottla.config import TopicConfig
from ottla.errors import DiskError, ErrorCode, Refused
from ottla.metadata.image import PartitionImage
from ottla.names import NodeId, Now, TopicPartition, Uuid
from ottla.records.validate import ProduceRules, Validated
from ottla.storage.disk import DiskFile, DiskJob
from ottla.storage.log import Appended, Log, LogTicket
from ottla.storage.segment import FileSlice

# A roll that found no room is tried again after so long, if there is still something to append.
ROLL_RETRY_MS = 100


class Waiter(Protocol):
    """Whoever waits for an acknowledgement."""

    def on_durable(self, token: Any, now: Now) -> None: ...

    def on_lost(self, token: Any, code: ErrorCode, now: Now) -> None: ...


class Host(Protocol):
    """What a partition needs of its node."""

    is_storage_offline: bool
    syncs: bool

    def mark_dirty(self, owner: "Partition", now: Now) -> None: ...

    def want_flush(self) -> None: ...

    def wake(self, waiting: dict[Any, None]) -> None: ...

    def submit(self, job: DiskJob, on_done: Callable[[object, Now], None]) -> None: ...

    def on_storage_error(self, error: DiskError) -> None: ...


class Partition:
    """The leader's side. Followers come with the cluster, on the same log."""

    def __init__(
        self, partition: TopicPartition, topic_id: Uuid, log: Log, host: Host, config: TopicConfig
    ) -> None:
        self.partition = partition
        self.topic_id = topic_id
        self.log = log
        self.host = host
        self.leader: NodeId | None = None
        self.leader_epoch = -1
        self.replica_count = 0
        self.isr_size = 0
        self.high_watermark = log.durable_offset
        self.is_deleted = False
        self.is_rolling = False
        self._next_roll_ms = 0
        self._retire: Callable[[DiskFile], None] | None = None
        # Requests that wait for a roll, and fetches that wait for data.
        self.roll_waiters: dict[Any, None] = {}
        self.fetch_waiters: dict[Any, None] = {}
        # Acknowledgements by the offset that the high watermark must reach.
        self.waiters: deque[tuple[int, Waiter, Any]] = deque()
        self.configure(config)

    def configure(self, config: TopicConfig) -> None:
        self.log.config = config
        self.min_isr = config.min_insync_replicas
        self.rules = ProduceRules(
            batch_bytes_max=config.max_message_bytes,
            compacted=config.compacted,
            log_append_time=config.log_append_time,
            timestamp_before_max_ms=config.message_timestamp_before_max_ms,
            timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        )

    def lead(self, image: PartitionImage) -> None:
        self.leader = NodeId(image.leader)
        self.leader_epoch = image.leader_epoch
        self.replica_count = len(image.replicas)
        self.isr_size = len(image.isr)

    def check_leader_epoch(self, current_leader_epoch: int) -> None:
        """KIP-320: a client that knows a newer leader, or an older one, must not be served."""
        if self.is_deleted:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.partition} was deleted")
        if current_leader_epoch in (-1, self.leader_epoch):
            return
        if current_leader_epoch < self.leader_epoch:
            raise Refused(
                ErrorCode.FENCED_LEADER_EPOCH, f"the leader epoch is {self.leader_epoch} now"
            )
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH, f"only {self.leader_epoch} is known here")

    # Appending

    def must_wait_for_roll(self, batch: Validated, now: Now) -> bool:
        """Starts a roll if this batch needs one. Nothing may be appended until it has ended."""
        if self.is_rolling:
            return True
        if not self.log.must_roll(batch, now.wall_ms):
            return False
        if self.host.is_storage_offline or now.mono_ms < self._next_roll_ms:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "no segment could be made")
        self.is_rolling = True
        self.host.submit(self.log.roll_job(), self._on_rolled)
        return True

    def _on_rolled(self, result: object, now: Now) -> None:
        self.is_rolling = False
        if isinstance(result, DiskError):
            # Who waits is refused, and does not try again without end.
            self._next_roll_ms = now.mono_ms + ROLL_RETRY_MS
            self.host.on_storage_error(result)
        elif self._retire is not None:
            self._retire(cast(DiskFile, result))
        else:
            self.log.on_rolled(cast(DiskFile, result), now.wall_ms)
        self.log.leave_directory()
        self.host.wake(self.roll_waiters)

    def append_as_leader(self, batch: Validated, now: Now) -> Appended:
        if self.host.is_storage_offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the log directory is offline")
        log = self.log
        was_dirty = log.is_dirty
        try:
            appended = log.append(batch, self.leader_epoch, now.wall_ms)
        except DiskError as error:
            self.host.on_storage_error(error)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, error.why) from error
        if not self.host.syncs:
            log.trust_page_cache()
            self.advance_high_watermark(now)
        elif log.is_dirty and not was_dirty:
            self.host.mark_dirty(self, now)
            if self.fetch_waiters:
                self.host.want_flush()
        return appended

    def check_min_isr(self) -> None:
        """acks=all is refused, not weakened, where too few replicas are in sync."""
        if self.min_isr <= self.isr_size:
            return
        # Where a topic has fewer replicas than it asks for in sync, all of them will do.
        needed = min(self.min_isr, self.replica_count)
        if self.isr_size < needed:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.partition} has {self.isr_size} in-sync replicas of the {needed} it needs",
            )

    def wait_for_ack(self, end_offset: int, waiter: Waiter, token: Any) -> None:
        self.waiters.append((end_offset, waiter, token))
        self.host.want_flush()

    # Reading

    def read(
        self, offset: int, end_offset: int, bytes_max: int, first_batch_whole: bool
    ) -> FileSlice | None:
        log = self.log
        if not log.start_offset <= offset <= end_offset:
            # Between the high watermark and the log end there is nothing to read yet, and
            # nothing wrong with asking.
            log.check_offset(offset, log.end_offset)
            return None
        if self.host.is_storage_offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the log directory is offline")
        if offset == end_offset:
            return None
        return log.read(offset, end_offset, bytes_max, first_batch_whole)

    @property
    def last_stable_offset(self) -> int:
        """Transactions come with the next step; until then nothing is unstable."""
        return self.high_watermark

    @property
    def is_flush_pending(self) -> bool:
        """Whether an answer at the high watermark would differ only because of our own flush."""
        return self.high_watermark < self.log.end_offset

    # Flushing

    def draw_ticket(self) -> LogTicket:
        return self.log.draw_ticket()

    def on_flushed(self, ticket: LogTicket, now: Now) -> None:
        if self.log.on_flushed(ticket):
            self.advance_high_watermark(now)

    def advance_high_watermark(self, now: Now) -> None:
        """The leader alone is the ISR: what is durable here is committed."""
        high_watermark = self.log.durable_offset
        assert high_watermark >= self.high_watermark
        if high_watermark == self.high_watermark:
            return
        self.high_watermark = high_watermark
        waiters = self.waiters
        while waiters and waiters[0][0] <= high_watermark:
            _, waiter, token = waiters.popleft()
            waiter.on_durable(token, now)
        if self.fetch_waiters:
            self.host.wake(self.fetch_waiters)

    # Letting go

    def close(
        self, retire: Callable[[DiskFile], None], when_unused: Callable[[], None], now: Now
    ) -> None:
        """Waiters wake and find that the partition is deleted."""
        self.is_deleted = True
        self._retire = retire
        self.log.close(retire, when_unused)
        self.lose_waiters(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, now)

    def lose_waiters(self, code: ErrorCode, now: Now) -> None:
        """What they wait for will not come."""
        waiters, self.waiters = self.waiters, deque()
        for _, waiter, token in waiters:
            waiter.on_lost(token, code, now)
        self.host.wake(self.roll_waiters)
        self.host.wake(self.fetch_waiters)
