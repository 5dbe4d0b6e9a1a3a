"""This node's replica of the metadata log, as leader of a quorum of one (DESIGN D5).

The log is an ordinary log of ours. A record counts as committed when it is durable on a majority of
voters, which is here alone. Other voters come with the cluster, through this same class.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ottla.errors import ErrorCode, Refused
from ottla.metadata.controller import Controller
from ottla.metadata.records import decode_record, encode_record
from ottla.names import NodeId, Now
from ottla.protocol.schema.records_raft import VotersRecord
from ottla.raft.batches import data_batch
from ottla.raft.directory import leader_change, quorum_records
from ottla.raft.snapshots import SnapshotId
from ottla.raft.snapshotter import Host, Snapshotter
from ottla.storage.log import SEGMENT_POSITION_MAX, Log, LogTicket


class Observer(Host, Protocol):
    """The broker's side: it sees committed records only, in order."""

    def on_committed(self, record: Any, offset: int, now: Now) -> None: ...


class _Uncommitted(NamedTuple):
    base_offset: int
    end_offset: int
    values: list[bytes]
    size: int
    timestamp_ms: int
    then: Callable[[Now], None] | None


class MetadataReplica:
    def __init__(
        self, log: Log, quorum_epoch: int, controller: Controller, snapshotter: Snapshotter
    ) -> None:
        self.log = log
        self.quorum_epoch = quorum_epoch
        self.controller = controller
        self.snapshotter = snapshotter
        self.high_watermark = log.durable_offset
        self._uncommitted: deque[_Uncommitted] = deque()
        self._observer: Observer | None = None

    def attach(self, observer: Observer) -> None:
        self._observer = observer
        self.snapshotter.attach(observer)

    def lead(self, node_id: NodeId, voters: VotersRecord, now: Now) -> None:
        """The first batch of the epoch. `quorum-state` was durable before this node got here."""
        self.snapshotter.quorum = quorum_records(voters)
        batch = leader_change(node_id, voters, now.wall_ms)
        appended = self.log.append(batch, self.quorum_epoch, now.wall_ms)
        self.controller.next_offset = appended.last_offset + 1

    def append(self, records: list[Any], then: Callable[[Now], None] | None, now: Now) -> None:
        """Append and replay for the controller; `then` runs once the records are committed."""
        if not records:
            assert then is not None
            if self._uncommitted:
                last = self._uncommitted[-1]
                end = last.end_offset
                self._uncommitted.append(_Uncommitted(end, end, [], 0, now.wall_ms, then))
            else:
                then(now)
            return
        values = [encode_record(record) for record in records]
        batch = data_batch(values, now.wall_ms)
        if self.log.active.size + batch.size > SEGMENT_POSITION_MAX:
            # A roll takes time, and the next command has to see this one's records now.
            why = "the metadata log's segment is full; a restart begins the next one"
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, why)
        appended = self.log.append(batch, self.quorum_epoch, now.wall_ms)
        for offset, record in enumerate(records, appended.base_offset):
            self.controller.replay(record, offset)
        end = appended.last_offset + 1
        self._uncommitted.append(
            _Uncommitted(appended.base_offset, end, values, batch.size, now.wall_ms, then)
        )

    def draw_ticket(self) -> LogTicket:
        return self.log.draw_ticket()

    def on_flushed(self, ticket: LogTicket, now: Now) -> None:
        self.log.on_flushed(ticket)
        self.high_watermark = self.log.durable_offset
        uncommitted = self._uncommitted
        observer, snapshotter = self._observer, self.snapshotter
        assert observer is not None
        while uncommitted and uncommitted[0].end_offset <= self.high_watermark:
            entry = uncommitted.popleft()
            for offset, value in enumerate(entry.values, entry.base_offset):
                # Decoded once more: the broker's image shares no object with the controller's.
                record = decode_record(value)
                snapshotter.standing.replay(record, value)
                if record is not None:
                    observer.on_committed(record, offset, now)
            if entry.values:
                end = SnapshotId(entry.end_offset, self.quorum_epoch)
                snapshotter.on_committed(end, entry.size, entry.timestamp_ms, now)
            if entry.then is not None:
                entry.then(now)
