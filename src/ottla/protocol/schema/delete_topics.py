"""DeleteTopics, API key 20."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uuid


class DeleteTopicState(Struct, gc=False):
    name: Annotated[
        string | None, Wire("6+", nullable="6+", about="Names it, or null when the id does.")
    ] = None
    topic_id: Annotated[uuid, Wire("6+", about="Names it, or zero when the name does.")] = NO_UUID


class DeleteTopicsRequest(Struct, gc=False):
    """Deletes topics by name or, since version 6, by id."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-6", flexible="4+", key=20, listeners=("broker", "controller")
    )

    topics: Annotated[list[DeleteTopicState], Wire("6+", about="The topics, by name or id.")] = []
    topic_names: Annotated[
        list[string], Wire("0-5", ignorable=True, about="The topics, by name.")
    ] = []
    timeout_ms: Annotated[int32, Wire("0+", about="How long to wait until they are gone.")] = 0


class DeletableTopicResult(Struct, gc=False):
    name: Annotated[
        string | None,
        Wire("0+", nullable="6+", about="The topic; null when only an unknown id was given."),
    ] = ""
    topic_id: Annotated[uuid, Wire("6+", ignorable=True, about="Its id.")] = NO_UUID
    error_code: Annotated[int16, Wire("0+", about="Why it was not deleted, or 0.")] = 0
    error_message: Annotated[
        string | None, Wire("5+", nullable="5+", ignorable=True, about="The same in words.")
    ] = None


class DeleteTopicsResponse(Struct, gc=False):
    """What became of each topic."""

    WIRE: ClassVar[Message] = Message("response", versions="1-6", flexible="4+", key=20)

    throttle_time_ms: Annotated[
        int32,
        Wire("1+", ignorable=True, about="For how long the client must pause, because of a quota."),
    ] = 0
    responses: Annotated[list[DeletableTopicResult], Wire("0+", about="What became of each.")] = []
