"""Our end of a fetch session with one broker (KIP-227): say only what changed.

The broker keeps the partitions and answers only about those with news. It may forget a session
at any time; then everything is said again.
"""

from typing import NamedTuple

from ottla.client.settings import FetchSettings
from ottla.errors import ErrorCode
from ottla.names import NO_UUID, TopicPartition, Uuid
from ottla.protocol.schema.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

NO_SESSION = 0
FIRST_EPOCH = 0
FINAL_EPOCH = -1
EPOCH_MAX = 2**31 - 1
# The last version that names its topics.
FETCH_BY_NAME = 12


class Wanted(NamedTuple):
    """What is asked of one partition."""

    topic_id: Uuid
    fetch_offset: int
    leader_epoch: int
    last_fetched_epoch: int


class FetchSession:
    def __init__(self) -> None:
        # Every topic that an answer may be about, as it may name it by its id alone.
        self.names: dict[Uuid, str] = {}
        self._session_id = NO_SESSION
        self._epoch = FIRST_EPOCH
        self._held: dict[TopicPartition, Wanted] = {}
        self._has_ids = False

    def request(
        self, wanted: dict[TopicPartition, Wanted], settings: FetchSettings
    ) -> tuple[FetchRequest, int | None]:
        """With the highest version that it may take."""
        has_ids = all(asked.topic_id != NO_UUID for asked in wanted.values())
        if has_ids != self._has_ids:
            # A session speaks of names or of ids to its end; the first epoch replaces it.
            self._epoch = FIRST_EPOCH
            self._has_ids = has_ids
        forgotten: dict[TopicPartition, Wanted] = {}
        changed = wanted
        if self._epoch == FIRST_EPOCH:
            self.names.clear()
        else:
            changed = {w: asked for w, asked in wanted.items() if self._held.get(w) != asked}
            forgotten = {w: held for w, held in self._held.items() if _is_gone(held, wanted.get(w))}
        self._held = wanted
        self.names |= {asked.topic_id: where.topic for where, asked in changed.items()}
        request = FetchRequest(
            max_wait_ms=settings.fetch_wait_ms_max,
            min_bytes=settings.fetch_bytes_min,
            max_bytes=settings.fetch_bytes_max,
            session_id=self._session_id,
            session_epoch=self._epoch,
            topics=_topics(changed, settings.partition_fetch_bytes_max),
            forgotten_topics_data=_forgotten(forgotten),
        )
        return request, None if has_ids else FETCH_BY_NAME

    def on_response(self, error: ErrorCode, session_id: int) -> None:
        if error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self._session_id, self._epoch = NO_SESSION, FIRST_EPOCH
        elif error != ErrorCode.NONE:
            self.on_lost()
        elif self._epoch == FIRST_EPOCH or session_id == NO_SESSION:
            self._session_id = session_id
            self._epoch = FIRST_EPOCH if session_id == NO_SESSION else 1
        else:
            self._epoch = 1 if self._epoch == EPOCH_MAX else self._epoch + 1

    def on_lost(self) -> None:
        """Whether the broker took the request, we do not know: the first epoch replaces it."""
        self._epoch = FIRST_EPOCH

    def closing(self) -> FetchRequest | None:
        """Lets the broker forget it at once, if there is one."""
        if self._session_id == NO_SESSION:
            return None
        session_id, self._session_id = self._session_id, NO_SESSION
        return FetchRequest(session_id=session_id, session_epoch=FINAL_EPOCH)


def _is_gone(held: Wanted, wanted: Wanted | None) -> bool:
    """Not wanted any more, or another topic of that name is."""
    return wanted is None or wanted.topic_id != held.topic_id


def _topics(wanted: dict[TopicPartition, Wanted], bytes_max: int) -> list[FetchTopic]:
    topics: dict[str, FetchTopic] = {}
    for (name, index), asked in wanted.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = FetchTopic(name, asked.topic_id, [])
        topic.partitions.append(
            FetchPartition(
                partition=index,
                current_leader_epoch=asked.leader_epoch,
                fetch_offset=asked.fetch_offset,
                last_fetched_epoch=asked.last_fetched_epoch,
                partition_max_bytes=bytes_max,
            )
        )
    return list(topics.values())


def _forgotten(held: dict[TopicPartition, Wanted]) -> list[ForgottenTopic]:
    topics: dict[tuple[str, Uuid], ForgottenTopic] = {}
    for (name, index), asked in held.items():
        key = (name, asked.topic_id)
        topic = topics.get(key)
        if topic is None:
            topic = topics[key] = ForgottenTopic(name, asked.topic_id, [])
        topic.partitions.append(index)
    return list(topics.values())
