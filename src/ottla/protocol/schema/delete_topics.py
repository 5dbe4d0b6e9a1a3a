"""DeleteTopics, API key 20."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uuid


class DeleteTopicState(Struct, gc=False):
    name: Annotated[string | None, Wire("6+", nullable="6+")] = None
    topic_id: Annotated[uuid, Wire("6+")] = NO_UUID


class DeleteTopicsRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="1-6", flexible="4+", key=20, listeners=("broker", "controller")
    )

    topics: Annotated[list[DeleteTopicState], Wire("6+")] = []
    topic_names: Annotated[list[string], Wire("0-5", ignorable=True)] = []
    timeout_ms: Annotated[int32, Wire("0+")] = 0


class DeletableTopicResult(Struct, gc=False):
    name: Annotated[string | None, Wire("0+", nullable="6+")] = ""
    topic_id: Annotated[uuid, Wire("6+", ignorable=True)] = NO_UUID
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("5+", nullable="5+", ignorable=True)] = None


class DeleteTopicsResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="1-6", flexible="4+", key=20)

    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    responses: Annotated[list[DeletableTopicResult], Wire("0+")] = []
