"""ShareGroupHeartbeat, API key 76."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uuid


class ShareGroupHeartbeatRequest(Struct, gc=False):
    """A member of a share group joins, stays or leaves."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1", flexible="0+", key=76, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    member_id: Annotated[string, Wire("0+")] = ""
    member_epoch: Annotated[int32, Wire("0+")] = 0
    rack_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    subscribed_topic_names: Annotated[list[string] | None, Wire("0+", nullable="0+")] = None


class TopicPartitions(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[int32], Wire("0+")] = []


class Assignment(Struct, gc=False):
    topic_partitions: Annotated[list[TopicPartitions], Wire("0+")] = []


class ShareGroupHeartbeatResponse(Struct, gc=False):
    """The member's epoch and, when it changed, its assignment."""

    WIRE: ClassVar[Message] = Message("response", versions="1", flexible="0+", key=76)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    member_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    member_epoch: Annotated[int32, Wire("0+")] = 0
    heartbeat_interval_ms: Annotated[int32, Wire("0+")] = 0
    assignment: Annotated[Assignment | None, Wire("0+", nullable="0+")] = None
