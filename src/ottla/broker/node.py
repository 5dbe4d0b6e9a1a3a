"""One broker as a deterministic object: call an input, then drain the effects in order (DESIGN D2).

Nothing here waits, reads a clock or opens a file. Time comes with each input; what takes time is an
effect whose result is an input.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ottla.broker.acks import Acks, AckWaits
from ottla.broker.checkpointing import Checkpointer
from ottla.broker.effects import (
    Close,
    DiskOp,
    DiskResult,
    Effect,
    FlushTicket,
    Mute,
    Report,
    Send,
    Unmute,
)
from ottla.broker.fetch_sessions import FetchSessions
from ottla.broker.flushing import Flushable, Flusher
from ottla.broker.metrics import Metrics
from ottla.broker.parked import Parked, Stalled, Stir, Timers, Woken
from ottla.broker.pipeline import NO_REPLY, Call, Connection, Message, Route
from ottla.broker.producer_ids import ProducerIds
from ottla.broker.state import NodeState
from ottla.errors import DiskError, ErrorCode, Malformed, Refused
from ottla.limits import (
    REPORT_CHARACTERS_MAX,
    REPORTED_ONCE_MAX,
    SLOTS_PER_CONNECTION_MAX,
    WAKE_UPS_PER_TURN_MAX,
)
from ottla.metadata.image import Image, PartitionImage
from ottla.names import METADATA_TOPIC_ID, NO_UUID, ConnId, NodeId, Now, Uuid
from ottla.protocol.frame import parse_request_header
from ottla.records.batch import CorruptBatch
from ottla.replication.partition import Partition
from ottla.storage.disk import DiskFile, DiskJob, JobId
from ottla.storage.jobs import CloseFiles, WarmRange
from ottla.storage.journal import Journal, PrepareJournal, SyncSegments
from ottla.storage.segment import FileSlice, WouldBlock

RouteOf = Callable[[int, int], Route]


class Node:
    def __init__(self, state: NodeState, route_of: RouteOf, now: Now) -> None:
        self.state = state
        self.route_of = route_of
        self.now = now
        self.config = state.config
        self.node_id = state.identity.node_id
        self.cluster_id = state.identity.cluster_id
        self.fetch_bytes_max = state.config.int("fetch.max.bytes")
        self.syncs = state.config.is_durable()
        self.is_storage_offline = False
        # Of frames that were copied because they have to wait.
        self.held_bytes = 0
        self.image: Image = state.image
        self.connections: dict[ConnId, Connection] = {}
        self.stir = Stir()
        self.timers = Timers(self.stir)
        self.woken = Woken(self.stir)
        self.metrics = Metrics()
        self.ack_waits = AckWaits(self.timers, self._answer)
        self.flusher = Flusher(state.marks, Journal(), self.stir)
        self.fetch_sessions = FetchSessions(state.config, state.entropy)
        self.producer_ids = ProducerIds(self.node_id, self)
        self.hosting = state.hosting
        self.metadata = state.metadata
        self.effects: list[Effect] = []
        self._jobs: dict[JobId, Callable[[object, Now], None]] = {}
        self._jobs_drawn = 0
        self._reported: dict[str, None] = {}
        self.hosting.attach(self)
        self.metadata.attach(self)
        self.checkpointer = Checkpointer(self.hosting, state.marks)

    def start(self, now: Now, on_ready: Callable[[Now], None]) -> None:
        """Lead the metadata quorum of one, register, and host what the metadata names."""
        self.now = now
        if self.syncs:
            self._open_journal(state_file=self.state.journal_file)
        self.hosting.take_up(now)
        self.metadata.lead(self.node_id, self.state.voters(), now)
        self.flusher.mark_dirty(self.metadata, now)
        controller = self.metadata.controller
        registration = self.state.registration()
        records = controller.activate()
        records += controller.register_controller(registration)
        self.append_metadata(records, lambda now: None)
        self.append_metadata(controller.register_broker(registration), lambda now: None)

        def on_unfenced(now: Now) -> None:
            self.hosting.when_open(on_ready, now)

        self.append_metadata(controller.unfence(self.node_id), on_unfenced)

    def _open_journal(self, state_file: DiskFile | None) -> None:
        """Until it is prepared, rounds sync every file themselves."""
        self.metadata.log.join_journal(self.flusher.journal, METADATA_TOPIC_ID)

        def on_prepared(result: Any, now: Now) -> None:
            if isinstance(result, DiskError):
                self.report("warning", f"no journal, every file is synced itself: {result.why}")
            else:
                self.flusher.journal.open(result)

        if state_file is None:
            self.submit(PrepareJournal(), on_prepared)
        else:
            on_prepared(state_file, self.now)

    def _sync_segments(self, job: SyncSegments) -> None:
        def on_synced(result: object, now: Now) -> None:
            if isinstance(result, DiskError):
                self._take_storage_offline(result)
            else:
                self.flusher.on_synced()
                self._close_retired()

        self.submit(job, on_synced)

    def _maybe_sync_segments(self) -> None:
        job = self.flusher.take_sync(self.now)
        if job is not None:
            self._sync_segments(job)
        checkpoint = self.checkpointer.take_due(self.now)
        if checkpoint is not None:
            self.submit(checkpoint, self._on_checkpointed)

    def _on_checkpointed(self, result: object, now: Now) -> None:
        self.checkpointer.on_written()
        if isinstance(result, DiskError):
            self.on_storage_error(result)

    @property
    def journal(self) -> Journal:
        return self.flusher.journal

    def retire(self, file: DiskFile) -> None:
        self.flusher.retire(file)
        self._close_retired()

    def _close_retired(self) -> None:
        files = self.flusher.take_closable()
        if files:
            self.submit(CloseFiles(files), _nothing)

    def drain(self, now: Now) -> None:
        """Stopping: whoever waits for more data is answered with what there is."""
        self.now = now
        self.flusher.want()
        for connection in self.connections.values():
            for parked in connection.parked:
                if parked.mutes and parked.deadline_ms is not None:
                    self.woken.expire(parked)

    @property
    def is_quiet(self) -> bool:
        """Nothing is on its way to the disk, and no job runs."""
        return self.is_storage_offline or (self.flusher.is_idle and not self._jobs)

    # Inputs

    def connected(self, conn: ConnId, peer: str, now: Now) -> None:
        self.now = now
        assert conn not in self.connections
        self.connections[conn] = Connection(conn, peer)

    def received(self, conn: ConnId, frame: memoryview, now: Now) -> None:
        """A whole frame, lent for this call only. Not called while the connection is muted."""
        self.now = now
        connection = self.connections[conn]
        assert not connection.is_muted
        slots = connection.slots
        try:
            header = parse_request_header(frame)
            route = self.route_of(header.api_key, header.api_version)
            if slots and (not route.is_produce or len(slots) >= SLOTS_PER_CONNECTION_MAX):
                connection.held = bytes(frame)
                self.held_bytes += len(frame)
                self._mute(connection)
                return
            request = route.decode(frame, header.body_at)[0]
        except Malformed as malformed:
            self.metrics.malformed_frames += 1
            self.close(conn, str(malformed))
            return
        self.metrics.requests += 1
        call = Call(connection, route, route.version, header.correlation_id, now)
        try:
            reply = route.handle(self, call, request)
        except (Stalled, WouldBlock) as cause:
            reply = self._park_to_run_again(call, frame, header.body_at, cause)
        if reply.__class__ is Acks:
            slots.append(call)
        elif reply.__class__ is Parked:
            slots.append(call)
            self._park(reply)
        elif slots:
            slots.append(call)
            call.answer(reply)
            call.drain(self.effects)
        elif reply is not NO_REPLY:
            self.effects.append(Send(conn, route.frame(header.correlation_id, reply)))

    def owes(self, conn: ConnId) -> bool:
        """Whether replies are still to come on this connection."""
        return bool(self.connections[conn].slots)

    def closed(self, conn: ConnId, now: Now) -> None:
        self.now = now
        connection = self.connections.pop(conn, None)
        if connection is not None:
            self._forget(connection)

    def flushed(self, ticket: FlushTicket, error: DiskError | None, now: Now) -> None:
        self.now = now
        self.flusher.on_flushed(ticket, error, now)
        if error is not None:
            self._take_storage_offline(error)
        self._close_retired()

    def disk_done(self, op: DiskOp, result: DiskResult, now: Now) -> None:
        self.now = now
        self._jobs.pop(op.id)(result, now)

    def tick(self, now: Now) -> None:
        self.now = now
        self.timers.run_due(now)
        self._maybe_sync_segments()
        # A round may be due, and nothing else would look for one to start.
        self.stir.is_set = True

    def next_deadline_ms(self) -> int | None:
        if self.woken.queue:
            return self.now.mono_ms
        due_ms = self.flusher.next_deadline_ms()
        for other_ms in (self.timers.next_deadline_ms(), self.checkpointer.next_deadline_ms()):
            if other_ms is not None and (due_ms is None or other_ms < due_ms):
                due_ms = other_ms
        return due_ms

    @property
    def needs_settling(self) -> bool:
        """Whether `take_effects` has more to do than to drain, or the next deadline moved."""
        return self.stir.is_set

    def drain_effects(self) -> list[Effect]:
        """The effects that are there already: answers, above all."""
        effects = self.effects
        self.effects = []
        return effects

    def take_effects(self) -> list[Effect]:
        """Drain. What the inputs of this turn woke runs first, and a flush round may start."""
        self.stir.is_set = False
        if self.woken.queue:
            self._run_woken()
        ticket = self.flusher.maybe_start(self.now)
        if ticket is not None:
            self.effects.append(ticket)
            self._maybe_sync_segments()
        return self.drain_effects()

    # For handlers: partitions and the cluster

    def find_partition(self, name: str, topic_id: Uuid, index: int) -> Partition:
        """The partition that this broker leads, by name or by topic id (KIP-516)."""
        hosting = self.hosting
        by_id = topic_id != NO_UUID
        topic = hosting.topics_by_id.get(topic_id) if by_id else hosting.topics.get(name)
        if topic is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise Refused(code, "this topic is not hosted here")
        if self.is_storage_offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the log directory is offline")
        partition = topic.partitions.get(index)
        if partition is not None:
            return partition
        opening = topic.opening.get(index)
        if opening is not None:
            raise Stalled(lambda parked: parked.wait_in(opening))
        why = topic.damaged.get(index)
        if why is not None:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, why)
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic.name} has no partition {index} here"
        )

    def leader_hint(self, name: str, topic_id: Uuid, index: int) -> PartitionImage | None:
        image = self.image
        topic = image.topics_by_id.get(topic_id) or image.topics.get(name)
        return None if topic is None else topic.partitions.get(index)

    def endpoints(self, node_ids: Iterable[int]) -> list[tuple[int, str, int, str | None]]:
        """Where clients find these brokers."""
        found = []
        for node_id in node_ids:
            broker = self.image.brokers.get(NodeId(node_id))
            if broker is not None and not broker.is_fenced and broker.endpoints:
                endpoint = broker.endpoints[0]
                found.append((int(node_id), endpoint.host, endpoint.port, broker.rack))
        return found

    def ask_controller(
        self, request: object, version: int, then: Callable[[Any, Now], None]
    ) -> None:
        """A message to the active controller, which is this node's own for now."""
        if self.is_storage_offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the log directory is offline")
        outcome = self.metadata.controller.handle(request, version)
        self.append_metadata(outcome.records, lambda now: then(outcome.response, now))

    def append_metadata(self, records: list[Any], then: Callable[[Now], None]) -> None:
        try:
            self.metadata.append(records, then, self.now)
        except DiskError as error:
            self.on_storage_error(error)
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, error.why) from error
        if records:
            self.flusher.mark_dirty(self.metadata, self.now)
            self.flusher.want()

    def on_committed(self, record: Any, offset: int, now: Now) -> None:
        self.image.replay(record, offset)
        self.hosting.on_committed(record, now)

    # For handlers and parts: effects

    def close(self, conn: ConnId, why: str) -> None:
        self.effects.append(Close(conn, why))

    def submit(self, job: DiskJob, on_done: Callable[[object, Now], None]) -> None:
        self._jobs_drawn += 1
        op = DiskOp(JobId(self._jobs_drawn), job)
        self._jobs[op.id] = on_done
        self.effects.append(op)

    def after(self, delay_ms: int, action: Callable[[Now], None]) -> None:
        self.timers.add(self.now.mono_ms + delay_ms, action)

    def report(self, level: str, text: str) -> None:
        self.effects.append(Report(level, text[:REPORT_CHARACTERS_MAX]))

    def report_once(self, text: str) -> None:
        """For what clients cause again and again, with names that they make up."""
        text = text[:REPORT_CHARACTERS_MAX]
        if text not in self._reported and len(self._reported) < REPORTED_ONCE_MAX:
            self._reported[text] = None
            self.report("warning", text)

    def new_uuid(self) -> Uuid:
        return self.state.entropy.uuid()

    # For partitions

    def mark_dirty(self, owner: Flushable, now: Now) -> None:
        self.flusher.mark_dirty(owner, now)

    def want_flush(self) -> None:
        self.flusher.want()

    def forget_log(self, partition: Partition) -> None:
        self.flusher.forget(partition)
        self.state.marks.forget(partition.log.directory)

    def on_storage_error(self, error: DiskError) -> None:
        """A full disk refuses writes until there is room; anything else is not to be trusted."""
        self.metrics.storage_errors += 1
        if not error.is_full:
            self._take_storage_offline(error)
            return
        self.report_once(f"the log directory is full; writes are refused ({error.why})")

    def read_failed(self, partition: Partition, error: DiskError | CorruptBatch) -> Refused:
        """What a log could not give back. Rot concerns its reader; the device concerns all."""
        if isinstance(error, DiskError):
            self.on_storage_error(error)
            return Refused(ErrorCode.KAFKA_STORAGE_ERROR, error.why)
        self.report_once(f"{partition.partition} cannot be read: {error}")
        return Refused(ErrorCode.CORRUPT_MESSAGE, str(error))

    def _take_storage_offline(self, error: DiskError) -> None:
        """After a failed sync nobody knows what is on disk: never tried again and trusted (D3)."""
        if self.is_storage_offline:
            return
        self.is_storage_offline = True
        self.flusher.give_up()
        self.report("error", f"the log directory is offline until a restart: {error.why}")
        for partition in self.hosting.all_partitions():
            partition.lose_waiters(ErrorCode.KAFKA_STORAGE_ERROR, self.now)
        for connection in self.connections.values():
            for parked in connection.parked:
                if parked.mutes:
                    self.woken.wake(parked)

    # Parking

    def wake(self, waiting: dict[Any, None]) -> None:
        self.woken.wake_all(waiting)

    def complete(self, parked: Parked, reply: Message) -> None:
        """The reply of a parked request is ready, whoever found that out."""
        if parked.is_done:
            return
        self._unpark(parked)
        self._answer(parked.call, reply)

    def _answer(self, call: Call, reply: Message) -> None:
        call.answer(reply)
        connection = call.connection
        # A connection that is gone has none.
        if connection.slots:
            call.drain(self.effects)
            if connection.is_muted and not connection.slots:
                self._resume(connection)

    def _unpark(self, parked: Parked) -> None:
        parked.is_done = True
        self.held_bytes -= parked.frame_bytes
        parked.frame_bytes = 0
        parked.stop_waiting()
        parked.call.connection.parked.pop(parked, None)
        if parked.timer is not None:
            self.timers.cancel(parked.timer)
            parked.timer = None

    def _forget(self, connection: Connection) -> None:
        """The client is gone: nothing may go on waiting on its behalf."""
        for parked in list(connection.parked):
            self._unpark(parked)
        connection.slots.clear()
        self._take_held(connection)

    def _mute(self, connection: Connection) -> None:
        if not connection.is_muted:
            connection.is_muted = True
            self.effects.append(Mute(connection.conn))

    def _resume(self, connection: Connection) -> None:
        """The slots are empty: what was held runs, and unless it parks, frames flow again."""
        connection.is_muted = False
        held = self._take_held(connection)
        if held is not None:
            self.received(connection.conn, memoryview(held), self.now)
        if not connection.is_muted:
            self.effects.append(Unmute(connection.conn))

    def _take_held(self, connection: Connection) -> bytes | None:
        held, connection.held = connection.held, None
        if held is not None:
            self.held_bytes -= len(held)
        return held

    def wait_for(self, cause: Stalled | WouldBlock, parked: Parked) -> Parked:
        """Run it again when what kept it from being answered is over."""
        if isinstance(cause, Stalled):
            cause.watch(parked)
        else:
            self._warm(cause, parked)
        return parked

    def _warm(self, cold: WouldBlock, parked: Parked) -> None:
        """Read the cold range in a job; the request runs again when it is in the page cache."""
        # Pinned: its topic may be deleted before the job has run.
        pinned = FileSlice(cold.segment, cold.position, cold.size)

        def on_warm(result: object, now: Now) -> None:
            pinned.release()
            if isinstance(result, DiskError):
                self._take_storage_offline(result)
            self.woken.wake(parked)

        self.submit(WarmRange(cold.segment.file, cold.position, cold.size), on_warm)

    def _park_to_run_again(
        self, call: Call, frame: memoryview, body_at: int, cause: Stalled | WouldBlock
    ) -> Parked:
        """What is parked owns its bytes: the frame is only lent for the call."""
        request = call.route.decode(memoryview(bytes(frame)), body_at)[0]

        def retry(parked: Parked, now: Now) -> Message | None:
            reply: Message = call.route.handle(self, call, request)
            return reply

        self.held_bytes += len(frame)
        return self.wait_for(cause, Parked(call, retry, frame_bytes=len(frame)))

    def _park(self, parked: Parked) -> None:
        self.metrics.parked += 1
        if parked.is_done:
            # Answered before it had its place in the order.
            parked.call.drain(self.effects)
            return
        connection = parked.call.connection
        connection.parked[parked] = None
        if parked.mutes:
            self._mute(connection)
        if parked.deadline_ms is not None:
            parked.timer = self.timers.add(parked.deadline_ms, _Expiry(self, parked))

    def _run_woken(self) -> None:
        queue = self.woken.queue
        for _ in range(min(len(queue), WAKE_UPS_PER_TURN_MAX)):
            parked = queue.popleft()
            parked.is_woken = False
            if not parked.is_done:
                self._run_again(parked)
        if queue:
            self.stir.is_set = True

    def _run_again(self, parked: Parked) -> None:
        parked.call.now = self.now
        try:
            reply = parked.run(self.now)
        except (Stalled, WouldBlock) as cause:
            self.wait_for(cause, parked)
            return
        if reply.__class__ is Parked:
            self._unpark(parked)
            self._park(reply)
        elif reply.__class__ is Acks:
            self._unpark(parked)
            self._let_pass(parked.call.connection)
        elif reply is not None:
            self.complete(parked, reply)

    def _let_pass(self, connection: Connection) -> None:
        """What stopped this connection waits for its acknowledgements only: produces may follow."""
        if connection.is_muted and connection.held is None:
            connection.is_muted = False
            self.effects.append(Unmute(connection.conn))


def _nothing(result: object, now: Now) -> None:
    """A close that fails has nobody to tell: the file was unlinked, or synced before."""


class _Expiry:
    """A parked request's deadline."""

    __slots__ = ("node", "parked")

    def __init__(self, node: Node, parked: Parked) -> None:
        self.node = node
        self.parked = parked

    def __call__(self, now: Now) -> None:
        self.parked.timer = None
        self.node.woken.expire(self.parked)
