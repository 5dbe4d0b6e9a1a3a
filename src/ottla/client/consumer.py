"""The consumer without its sockets: partitions in, fetch requests out, records back.

Partitions are assigned by hand. One fetch at a time is under way with each broker; what it brings
waits, within a bound, until it is taken.
"""

from collections import deque
from typing import NamedTuple

import msgspec

from ottla.client.chunks import Chunk, FetchedRecords
from ottla.client.cluster import ClusterView, error_code
from ottla.client.fetch_session import FetchSession, Wanted
from ottla.client.lookups import list_offsets, listed_offsets
from ottla.client.positions import End, FetchError, Position, Start
from ottla.client.requests import Backoff, ClientRequest, Random, earliest
from ottla.client.settings import FetchSettings
from ottla.errors import RETRIABLE, ErrorCode
from ottla.names import Now, TopicPartition
from ottla.protocol.schema.fetch import FetchResponse, PartitionData
from ottla.protocol.schema.list_offsets import ListOffsetsResponse
from ottla.records.batch import CorruptBatch
from ottla.records.compress import TooLarge

# Of a fetch these say something else than "later": the data itself is bad.
FETCH_AGAIN: dict[ErrorCode, None] = dict.fromkeys(
    code
    for code in (*RETRIABLE, ErrorCode.UNKNOWN_SERVER_ERROR)
    if code != ErrorCode.CORRUPT_MESSAGE
)

UNKNOWN_TOPIC = dict.fromkeys((ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID))


class _Asked(NamedTuple):
    position: Position
    generation: int

    @property
    def is_current(self) -> bool:
        return self.position.generation == self.generation


class _Lookup(NamedTuple):
    node: int
    asked: dict[TopicPartition, _Asked]


class _Fetch(NamedTuple):
    node: int
    session: FetchSession
    asked: dict[TopicPartition, _Asked]


class Fetcher:
    def __init__(self, cluster: ClusterView, settings: FetchSettings, random: Random) -> None:
        self.buffered_bytes = 0
        self._cluster = cluster
        self._settings = settings
        self._backoff = Backoff(settings.backoff, random)
        # The longest unserved first.
        self._positions: dict[TopicPartition, Position] = {}
        self._sessions: dict[int, FetchSession] = {}
        self._fetches: dict[int, _Fetch] = {}
        self._lookups: dict[int, _Lookup] = {}
        self._fetching: dict[int, None] = {}
        self._resting: dict[int, tuple[int, int]] = {}
        self._chunks: deque[Chunk] = deque()
        self._errors: list[FetchError] = []
        self._token = 0
        self._polled_ms = -1

    def assign(self, where: TopicPartition, start: Start, end: End = None) -> None:
        self._cluster.want(where.topic)
        self.unassign(where)
        self._positions[where] = Position(where, start, end)

    def unassign(self, where: TopicPartition) -> None:
        position = self._positions.pop(where, None)
        if position is not None:
            position.generation += 1
            self._drop_stale()

    def seek(self, where: TopicPartition, start: Start) -> None:
        """Go on elsewhere; also after an error of this partition."""
        self._positions[where].seek(start)
        self._drop_stale()

    def consumed(self, where: TopicPartition) -> int | None:
        """The offset behind all that was taken; None while that is looked up."""
        return self._positions[where].consumed

    def high_watermark(self, where: TopicPartition) -> int:
        """As the last fetch said; -1 before the first."""
        return self._positions[where].high_watermark

    @property
    def is_finished(self) -> bool:
        """Every partition was taken up to its end."""
        return all(position.is_finished for position in self._positions.values())

    def take_fetched(self, records_max: int = 500) -> list[FetchedRecords]:
        """Records in the order of their arrival, at most about so many."""
        taken = []
        left = records_max
        while self._chunks and left > 0:
            chunk = self._chunks[0]
            position = chunk.position
            try:
                records = chunk.take(left)
            except (CorruptBatch, TooLarge) as error:
                self._fail(position, ErrorCode.CORRUPT_MESSAGE, str(error))
                continue
            if not records:
                self._chunks.popleft()
                self.buffered_bytes -= chunk.size
                continue
            left -= len(records)
            assert position.consumed is not None
            taken.append(
                FetchedRecords(position.where, records, position.consumed, position.high_watermark)
            )
        return taken

    def take_errors(self) -> list[FetchError]:
        """Partitions that are read no further until somebody seeks."""
        errors, self._errors = self._errors, []
        return errors

    def close(self) -> list[ClientRequest]:
        """Requests whose answers nobody awaits: the brokers need not remember our sessions."""
        requests = []
        for node, session in self._sessions.items():
            request = session.closing()
            if request is not None:
                self._token += 1
                timeout_ms = self._settings.request_timeout_ms
                requests.append(ClientRequest(node, self._token, request, timeout_ms))
        return requests

    # The role of asking

    def poll(self, now: Now) -> list[ClientRequest]:
        self._polled_ms = now.mono_ms
        lookups: dict[int, list[tuple[Position, int, int]]] = {}
        wanted: dict[int, dict[TopicPartition, Wanted]] = {}
        for where, position in list(self._positions.items()):
            timestamp = position.wanted_timestamp()
            if position.looked_up or position.retry_at_ms > now.mono_ms:
                continue
            if timestamp is None and not position.is_fetchable:
                continue
            leader = self._cluster.leader(where)
            if leader is None:
                self._miss(position, now.mono_ms)
            elif timestamp is not None:
                asked = (position, timestamp, leader.leader_epoch)
                lookups.setdefault(leader.leader, []).append(asked)
            elif position.fetch_offset is not None:
                wanted.setdefault(leader.leader, {})[where] = Wanted(
                    self._cluster.topics[where.topic].topic_id,
                    position.fetch_offset,
                    leader.leader_epoch,
                    position.last_epoch,
                )
        requests = [self._lookup(node, asked) for node, asked in lookups.items()]
        for node, partitions in wanted.items():
            if self._may_fetch(node, now.mono_ms):
                requests.append(self._fetch(node, partitions))
        return requests

    def on_response(self, token: int, response: msgspec.Struct | None, now: Now) -> None:
        lookup = self._lookups.pop(token, None)
        if lookup is not None:
            assert isinstance(response, ListOffsetsResponse)
            self._learn_offsets(lookup, response, now.mono_ms)
            return
        fetch = self._fetches.pop(token, None)
        if fetch is None:
            return
        assert isinstance(response, FetchResponse)
        self._fetching.pop(fetch.node, None)
        code = error_code(response.error_code)
        fetch.session.on_response(code, response.session_id)
        if code != ErrorCode.NONE:
            self._rest(fetch.node, now.mono_ms)
            return
        self._resting.pop(fetch.node, None)
        for topic in response.responses:
            name = topic.topic or fetch.session.names.get(topic.topic_id, "")
            for found in topic.partitions:
                asked = fetch.asked.get(TopicPartition(name, found.partition_index))
                if asked is not None and asked.is_current:
                    self._learn_partition(asked.position, found, fetch.node, response, now.mono_ms)

    def on_lost(self, token: int, why: str, was_sent: bool, now: Now) -> None:
        self._cluster.refresh()
        lookup = self._lookups.pop(token, None)
        if lookup is not None:
            for asked in lookup.asked.values():
                asked.position.looked_up = False
                self._trouble(asked.position, now.mono_ms, ErrorCode.NETWORK_EXCEPTION, why)
            return
        fetch = self._fetches.pop(token, None)
        if fetch is not None:
            self._fetching.pop(fetch.node, None)
            fetch.session.on_lost()
            self._rest(fetch.node, now.mono_ms)

    def on_refused(self, token: int, why: str, now: Now) -> None:
        sent = self._lookups.pop(token, None) or self._fetches.pop(token, None)
        if sent is None:
            return
        if isinstance(sent, _Fetch):
            self._fetching.pop(sent.node, None)
            sent.session.on_lost()
        for asked in sent.asked.values():
            asked.position.looked_up = False
            if asked.is_current:
                self._fail(asked.position, ErrorCode.UNSUPPORTED_VERSION, why)

    def next_deadline_ms(self) -> int | None:
        deadlines: list[int | None] = [
            position.retry_at_ms for position in self._positions.values() if position.error is None
        ]
        deadlines += [until_ms for _, until_ms in self._resting.values()]
        return earliest(deadlines, self._polled_ms)

    # Asking

    def _lookup(self, node: int, asked: list[tuple[Position, int, int]]) -> ClientRequest:
        self._token += 1
        for position, _, _ in asked:
            position.looked_up = True
        self._lookups[self._token] = _Lookup(
            node,
            {position.where: _Asked(position, position.generation) for position, _, _ in asked},
        )
        timeout_ms = self._settings.request_timeout_ms
        return ClientRequest(node, self._token, list_offsets(asked, timeout_ms), timeout_ms)

    def _may_fetch(self, node: int, mono_ms: int) -> bool:
        if node in self._fetching or self.buffered_bytes >= self._settings.prefetch_bytes_max:
            return False
        return node not in self._resting or self._resting[node][1] <= mono_ms

    def _fetch(self, node: int, wanted: dict[TopicPartition, Wanted]) -> ClientRequest:
        session = self._sessions.get(node)
        if session is None:
            session = self._sessions[node] = FetchSession()
        request, version_max = session.request(wanted, self._settings)
        self._token += 1
        asked = {}
        for where in wanted:
            position = self._positions[where]
            asked[where] = _Asked(position, position.generation)
        self._fetches[self._token] = _Fetch(node, session, asked)
        self._fetching[node] = None
        timeout_ms = self._settings.request_timeout_ms + self._settings.fetch_wait_ms_max
        return ClientRequest(node, self._token, request, timeout_ms, version_max)

    # What comes back

    def _learn_offsets(self, lookup: _Lookup, response: ListOffsetsResponse, mono_ms: int) -> None:
        found = listed_offsets(response)
        for where, asked in lookup.asked.items():
            position = asked.position
            position.looked_up = False
            if not asked.is_current:
                continue
            answer = found.get(where)
            code = (
                ErrorCode.UNKNOWN_SERVER_ERROR if answer is None else error_code(answer.error_code)
            )
            if answer is not None and code == ErrorCode.NONE:
                position.on_success()
                position.on_looked_up(answer.offset)
            else:
                self._refused(position, code, lookup.node, mono_ms)

    def _learn_partition(
        self,
        position: Position,
        found: PartitionData,
        node: int,
        response: FetchResponse,
        mono_ms: int,
    ) -> None:
        code = error_code(found.error_code)
        hint = found.current_leader
        if code == ErrorCode.NONE:
            position.on_success()
            position.high_watermark = found.high_watermark
            if found.diverging_epoch.end_offset >= 0:
                cut = found.diverging_epoch
                position.on_truncated(cut.epoch, cut.end_offset, self._settings.reset)
                self._take_error(position)
            elif found.records:
                self._keep(position, found)
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            start, end = found.log_start_offset, found.high_watermark
            known = f", the log has {start} to {end}" if start >= 0 else ""
            why = f"offset {position.fetch_offset} is not there{known}"
            position.on_out_of_range(self._settings.reset, why)
            self._take_error(position)
        elif not self._cluster.learn_leader(
            position.where, hint.leader_id, hint.leader_epoch, response.node_endpoints
        ):
            self._refused(position, code, node, mono_ms)

    def _keep(self, position: Position, found: PartitionData) -> None:
        records = found.records
        assert isinstance(records, bytes | memoryview)
        assert position.fetch_offset is not None
        try:
            chunk = Chunk(position, position.fetch_offset, records)
        except CorruptBatch as error:
            self._fail(position, ErrorCode.CORRUPT_MESSAGE, str(error))
            return
        self._chunks.append(chunk)
        self.buffered_bytes += chunk.size
        position.fetch_offset = chunk.last.next_offset
        position.last_epoch = chunk.last.partition_leader_epoch
        # To the end of the line.
        self._positions[position.where] = self._positions.pop(position.where)

    # Trouble

    def _refused(self, position: Position, code: ErrorCode, node: int, mono_ms: int) -> None:
        why = f"{self._cluster.name(node)}: {code.name}"
        if code in FETCH_AGAIN:
            self._trouble(position, mono_ms, code, why)
        else:
            self._fail(position, code, why)

    def _miss(self, position: Position, mono_ms: int) -> None:
        """Nobody leads it, as far as we know."""
        topic = position.where.topic
        code = self._cluster.topic_errors.get(topic)
        if code is None and topic in self._cluster.topics:
            is_there = position.where.partition in self._cluster.topics[topic].partitions
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            code = ErrorCode.LEADER_NOT_AVAILABLE if is_there else unknown
        if code is None:
            self._cluster.want(topic)
        elif code in FETCH_AGAIN:
            self._trouble(position, mono_ms, code, "as the brokers' metadata says")
        else:
            self._fail(position, code, "as the brokers' metadata says")

    def _trouble(self, position: Position, mono_ms: int, code: ErrorCode, why: str) -> None:
        self._cluster.refresh()
        position.on_trouble(mono_ms, self._backoff)
        assert position.trouble_since_ms is not None
        lasting_ms = mono_ms - position.trouble_since_ms
        if code in UNKNOWN_TOPIC and lasting_ms >= self._settings.topic_timeout_ms:
            self._fail(position, code, why)

    def _rest(self, node: int, mono_ms: int) -> None:
        failures = self._resting.get(node, (0, 0))[0] + 1
        self._resting[node] = (failures, mono_ms + self._backoff.delay_ms(failures))

    def _fail(self, position: Position, code: ErrorCode, why: str) -> None:
        position.fail(code, why)
        self._take_error(position)

    def _take_error(self, position: Position) -> None:
        """After the position may have moved: its data is stale, and its error is news."""
        self._drop_stale()
        if position.error is not None:
            self._errors.append(position.error)

    def _drop_stale(self) -> None:
        for chunk in self._chunks:
            if not chunk.is_current:
                self.buffered_bytes -= chunk.size
        self._chunks = deque(chunk for chunk in self._chunks if chunk.is_current)
