"""ConsumerGroupHeartbeat, API key 68."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uuid


class ConsumerGroupHeartbeatRequestTopicPartitions(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[int32], Wire("0+")] = []


class ConsumerGroupHeartbeatRequest(Struct, gc=False):
    """A member joins, leaves, or says what it has taken and given up (KIP-848)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="0+", key=68, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    member_id: Annotated[string, Wire("0+")] = ""
    member_epoch: Annotated[int32, Wire("0+")] = 0
    instance_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    rack_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    rebalance_timeout_ms: Annotated[int32, Wire("0+")] = -1
    subscribed_topic_names: Annotated[list[string] | None, Wire("0+", nullable="0+")] = None
    subscribed_topic_regex: Annotated[string | None, Wire("1+", nullable="1+")] = None
    server_assignor: Annotated[string | None, Wire("0+", nullable="0+")] = None
    topic_partitions: Annotated[
        list[ConsumerGroupHeartbeatRequestTopicPartitions] | None, Wire("0+", nullable="0+")
    ] = None


class ConsumerGroupHeartbeatResponseTopicPartitions(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    partitions: Annotated[list[int32], Wire("0+")] = []


class Assignment(Struct, gc=False):
    topic_partitions: Annotated[
        list[ConsumerGroupHeartbeatResponseTopicPartitions], Wire("0+")
    ] = []


class ConsumerGroupHeartbeatResponse(Struct, gc=False):
    """The member's epoch and, when it changed, its assignment."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="0+", key=68)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    member_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    member_epoch: Annotated[int32, Wire("0+")] = 0
    heartbeat_interval_ms: Annotated[int32, Wire("0+")] = 0
    assignment: Annotated[Assignment | None, Wire("0+", nullable="0+")] = None
