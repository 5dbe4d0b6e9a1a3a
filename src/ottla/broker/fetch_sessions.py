"""Incremental fetch sessions (KIP-227): a consumer names what changed, and is told the same."""

from collections.abc import Iterator
from typing import Final, Protocol

from ottla.config import BrokerConfig
from ottla.errors import ErrorCode, Refused
from ottla.limits import SESSION_BYTES_MAX, SESSION_PARTITION_BYTES
from ottla.metadata.controller import Entropy
from ottla.names import Now, Uuid
from ottla.protocol.schema.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EPOCH_MAX: Final = 2**31 - 1
TOPIC_IDS_FROM: Final = 13
# A full cache gives a newcomer the slot of a session that was not used for this long.
EVICTION_MS: Final = 120_000

Key = tuple[str, Uuid, int]
Answers = list[tuple[str, Uuid, PartitionData]]


class FetchContext(Protocol):
    """Which partitions a fetch reads, and what of the result it tells."""

    def partitions(self) -> Iterator[tuple[str, Uuid, FetchPartition]]: ...

    def answer(self, answers: Answers) -> FetchResponse: ...


class _Cached:
    """One partition of a session: what was asked last, and what was answered last."""

    __slots__ = ("asked", "high_watermark", "last_stable_offset", "log_start_offset")

    def __init__(self, asked: FetchPartition) -> None:
        self.asked = asked
        self.high_watermark = self.last_stable_offset = self.log_start_offset = -2

    def take_change(self, answer: PartitionData) -> bool:
        """Whether this answer says anything new. A partition in error is always told again."""
        changed = (
            len(answer.records or b"") > 0
            or answer.high_watermark != self.high_watermark
            or answer.last_stable_offset != self.last_stable_offset
            or answer.log_start_offset != self.log_start_offset
            or answer.error_code != 0
        )
        if answer.error_code != 0:
            self.high_watermark = self.last_stable_offset = self.log_start_offset = -2
        else:
            self.high_watermark = answer.high_watermark
            self.last_stable_offset = answer.last_stable_offset
            self.log_start_offset = answer.log_start_offset
        return changed


class _Session:
    """A client's session: its partitions in the order in which they are read."""

    __slots__ = ("cached", "epoch", "id", "last_used_ms", "size", "uses_topic_ids")

    def __init__(self, session_id: int, uses_topic_ids: bool) -> None:
        self.id = session_id
        self.epoch = INITIAL_EPOCH + 1
        self.uses_topic_ids = uses_topic_ids
        self.cached: dict[Key, _Cached] = {}
        # What it takes of the memory for sessions, roughly.
        self.size = 0
        self.last_used_ms = 0

    def partitions(self) -> Iterator[tuple[str, Uuid, FetchPartition]]:
        for (name, topic_id, _), cached in list(self.cached.items()):
            yield name, topic_id, cached.asked

    def update(self, request: FetchRequest) -> None:
        for topic in request.topics:
            for asked in topic.partitions:
                key = (topic.topic, topic.topic_id, asked.partition)
                cached = self.cached.get(key)
                if cached is None:
                    self.cached[key] = _Cached(asked)
                    self.size += SESSION_PARTITION_BYTES + len(topic.topic)
                else:
                    cached.asked = asked
        for forgotten in request.forgotten_topics_data:
            for index in forgotten.partitions:
                key = (forgotten.topic, forgotten.topic_id, index)
                if self.cached.pop(key, None) is not None:
                    self.size -= SESSION_PARTITION_BYTES + len(forgotten.topic)


class _FullFetch:
    """Every partition of the request, every answer; with a session, its beginning."""

    def __init__(self, request: FetchRequest, session: _Session | None) -> None:
        self.request = request
        self.session = session

    def partitions(self) -> Iterator[tuple[str, Uuid, FetchPartition]]:
        for topic in self.request.topics:
            for asked in topic.partitions:
                yield topic.topic, topic.topic_id, asked

    def answer(self, answers: Answers) -> FetchResponse:
        session = self.session
        if session is not None:
            for name, topic_id, answer in answers:
                cached = session.cached.get((name, topic_id, answer.partition_index))
                if cached is not None:
                    cached.take_change(answer)
        return FetchResponse(0, 0, session.id if session else NO_SESSION, _by_topic(answers))


class _IncrementalFetch:
    def __init__(self, session: _Session) -> None:
        self.session = session

    def partitions(self) -> Iterator[tuple[str, Uuid, FetchPartition]]:
        return self.session.partitions()

    def answer(self, answers: Answers) -> FetchResponse:
        cached_by_key = self.session.cached
        told: Answers = []
        for name, topic_id, answer in answers:
            key = (name, topic_id, answer.partition_index)
            if not cached_by_key[key].take_change(answer):
                continue
            told.append((name, topic_id, answer))
            if len(answer.records or b""):
                # Served: it goes behind the others, so that none starves.
                cached_by_key[key] = cached_by_key.pop(key)
        return FetchResponse(0, 0, self.session.id, _by_topic(told))


def _by_topic(answers: Answers) -> list[FetchableTopicResponse]:
    """Neighbours of one topic share its entry, so that the order of reading is kept."""
    topics: list[FetchableTopicResponse] = []
    for name, topic_id, answer in answers:
        if topics and topics[-1].topic == name and topics[-1].topic_id == topic_id:
            topics[-1].partitions.append(answer)
        else:
            topics.append(FetchableTopicResponse(name, topic_id, [answer]))
    return topics


class FetchSessions:
    def __init__(self, config: BrokerConfig, entropy: Entropy) -> None:
        self._slots = config.int("max.incremental.fetch.session.cache.slots")
        self._entropy = entropy
        # In the order of last use.
        self._sessions: dict[int, _Session] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, request: FetchRequest, version: int, now: Now) -> FetchContext:
        epoch = request.session_epoch
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id in self._sessions:
                self._drop(self._sessions[request.session_id])
            session = None
            if epoch == INITIAL_EPOCH:
                session = self._create(request, version, now)
            return _FullFetch(request, session)
        session = self._sessions.get(request.session_id)
        if session is None:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (version >= TOPIC_IDS_FROM):
            raise Refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        self._update(session, request)
        if not session.cached:
            self._drop(session)
            return _FullFetch(request, None)
        if self._size > SESSION_BYTES_MAX:
            # It grew too large while it was in use: its client begins anew, and fetches in full.
            self._drop(session)
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        session.epoch = 1 if epoch == EPOCH_MAX else epoch + 1
        session.last_used_ms = now.mono_ms
        self._sessions[session.id] = self._sessions.pop(session.id)
        return _IncrementalFetch(session)

    def _create(self, request: FetchRequest, version: int, now: Now) -> _Session | None:
        """None where the cache is full of sessions in use: the client then fetches in full."""
        if len(self._sessions) >= self._slots and not self._evict(now):
            return None
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._entropy.session_id()
        session = _Session(session_id, version >= TOPIC_IDS_FROM)
        session.last_used_ms = now.mono_ms
        self._sessions[session_id] = session
        self._update(session, request)
        while self._size > SESSION_BYTES_MAX:
            if not self._evict(now):
                self._drop(session)
                return None
        return session

    def _update(self, session: _Session, request: FetchRequest) -> None:
        self._size -= session.size
        session.update(request)
        self._size += session.size

    def _drop(self, session: _Session) -> None:
        self._size -= session.size
        del self._sessions[session.id]

    def _evict(self, now: Now) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now.mono_ms - oldest.last_used_ms <= EVICTION_MS:
            return False
        self._drop(oldest)
        return True
