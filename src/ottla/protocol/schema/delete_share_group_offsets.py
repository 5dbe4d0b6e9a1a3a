"""DeleteShareGroupOffsets, API key 92."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uuid


class DeleteShareGroupOffsetsRequestTopic(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""


class DeleteShareGroupOffsetsRequest(Struct, gc=False):
    """Forgets a share group's place in topics."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=92, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[DeleteShareGroupOffsetsRequestTopic], Wire("0+")] = []


class DeleteShareGroupOffsetsResponseTopic(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None


class DeleteShareGroupOffsetsResponse(Struct, gc=False):
    """Which topics the share group forgot."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=92)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    responses: Annotated[list[DeleteShareGroupOffsetsResponseTopic], Wire("0+")] = []
