"""StreamsGroupDescribe, API key 89."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string, uint16


class StreamsGroupDescribeRequest(Struct, gc=False):
    """Asks about groups of Kafka Streams (KIP-1071)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=89, listeners=("broker",)
    )

    group_ids: Annotated[list[string], Wire("0+")] = []
    include_authorized_operations: Annotated[boolean, Wire("0+")] = False


class KeyValue(Struct, gc=False):
    key: Annotated[string, Wire("0+")] = ""
    value: Annotated[string, Wire("0+")] = ""


class TopicInfo(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[int32, Wire("0+")] = 0
    replication_factor: Annotated[int16, Wire("0+")] = 0
    topic_configs: Annotated[list[KeyValue], Wire("0+")] = []


class Subtopology(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    source_topics: Annotated[list[string], Wire("0+")] = []
    repartition_sink_topics: Annotated[list[string], Wire("0+")] = []
    state_changelog_topics: Annotated[list[TopicInfo], Wire("0+")] = []
    repartition_source_topics: Annotated[list[TopicInfo], Wire("0+")] = []


class Topology(Struct, gc=False):
    epoch: Annotated[int32, Wire("0+")] = 0
    subtopologies: Annotated[list[Subtopology] | None, Wire("0+", nullable="0+")] = None


class Endpoint(Struct, gc=False):
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0


class TaskOffset(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    partition: Annotated[int32, Wire("0+")] = 0
    offset: Annotated[int64, Wire("0+")] = 0


class TaskIds(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class Assignment(Struct, gc=False):
    active_tasks: Annotated[list[TaskIds], Wire("0+")] = []
    standby_tasks: Annotated[list[TaskIds], Wire("0+")] = []
    warmup_tasks: Annotated[list[TaskIds], Wire("0+")] = []


class Member(Struct, gc=False):
    member_id: Annotated[string, Wire("0+")] = ""
    member_epoch: Annotated[int32, Wire("0+")] = 0
    instance_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    rack_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    client_id: Annotated[string, Wire("0+")] = ""
    client_host: Annotated[string, Wire("0+")] = ""
    topology_epoch: Annotated[int32, Wire("0+")] = 0
    process_id: Annotated[string, Wire("0+")] = ""
    user_endpoint: Annotated[Endpoint | None, Wire("0+", nullable="0+")] = None
    client_tags: Annotated[list[KeyValue], Wire("0+")] = []
    task_offsets: Annotated[list[TaskOffset], Wire("0+")] = []
    task_end_offsets: Annotated[list[TaskOffset], Wire("0+")] = []
    assignment: Annotated[Assignment, Wire("0+")] = field(default_factory=Assignment)
    target_assignment: Annotated[Assignment, Wire("0+")] = field(default_factory=Assignment)
    is_classic: Annotated[boolean, Wire("0+")] = False


class DescribedGroup(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    group_id: Annotated[string, Wire("0+")] = ""
    group_state: Annotated[string, Wire("0+")] = ""
    group_epoch: Annotated[int32, Wire("0+")] = 0
    assignment_epoch: Annotated[int32, Wire("0+")] = 0
    topology: Annotated[Topology | None, Wire("0+", nullable="0+")] = None
    members: Annotated[list[Member], Wire("0+")] = []
    authorized_operations: Annotated[int32, Wire("0+")] = -2147483648


class StreamsGroupDescribeResponse(Struct, gc=False):
    """The topology, members and tasks of those groups."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=89)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    groups: Annotated[list[DescribedGroup], Wire("0+")] = []
