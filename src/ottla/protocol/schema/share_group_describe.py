"""ShareGroupDescribe, API key 77."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int16, int32, string, uuid


class ShareGroupDescribeRequest(Struct, gc=False):
    """Asks about share groups (KIP-932)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1", flexible="0+", key=77, listeners=("broker",)
    )

    group_ids: Annotated[list[string], Wire("0+")] = []
    include_authorized_operations: Annotated[boolean, Wire("0+")] = False


class TopicPartitions(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("0+")] = NO_UUID
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class Assignment(Struct, gc=False):
    topic_partitions: Annotated[list[TopicPartitions], Wire("0+")] = []


class Member(Struct, gc=False):
    member_id: Annotated[string, Wire("0+")] = ""
    rack_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    member_epoch: Annotated[int32, Wire("0+")] = 0
    client_id: Annotated[string, Wire("0+")] = ""
    client_host: Annotated[string, Wire("0+")] = ""
    subscribed_topic_names: Annotated[list[string], Wire("0+")] = []
    assignment: Annotated[Assignment, Wire("0+")] = field(default_factory=Assignment)


class DescribedGroup(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    group_id: Annotated[string, Wire("0+")] = ""
    group_state: Annotated[string, Wire("0+")] = ""
    group_epoch: Annotated[int32, Wire("0+")] = 0
    assignment_epoch: Annotated[int32, Wire("0+")] = 0
    assignor_name: Annotated[string, Wire("0+")] = ""
    members: Annotated[list[Member], Wire("0+")] = []
    authorized_operations: Annotated[int32, Wire("0+")] = -2147483648


class ShareGroupDescribeResponse(Struct, gc=False):
    """The state, members and assignments of those groups."""

    WIRE: ClassVar[Message] = Message("response", versions="1", flexible="0+", key=77)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    groups: Annotated[list[DescribedGroup], Wire("0+")] = []
