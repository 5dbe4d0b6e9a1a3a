"""StreamsGroupHeartbeat, API key 88."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, int64, string, uint16


class KeyValue(Struct, gc=False):
    key: Annotated[string, Wire("0+")] = ""
    value: Annotated[string, Wire("0+")] = ""


class TopicInfo(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[int32, Wire("0+")] = 0
    replication_factor: Annotated[int16, Wire("0+")] = 0
    topic_configs: Annotated[list[KeyValue], Wire("0+")] = []


class CopartitionGroup(Struct, gc=False):
    source_topics: Annotated[list[int16], Wire("0+")] = []
    source_topic_regex: Annotated[list[int16], Wire("0+")] = []
    repartition_source_topics: Annotated[list[int16], Wire("0+")] = []


class Subtopology(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    source_topics: Annotated[list[string], Wire("0+")] = []
    source_topic_regex: Annotated[list[string], Wire("0+")] = []
    state_changelog_topics: Annotated[list[TopicInfo], Wire("0+")] = []
    repartition_sink_topics: Annotated[list[string], Wire("0+")] = []
    repartition_source_topics: Annotated[list[TopicInfo], Wire("0+")] = []
    copartition_groups: Annotated[list[CopartitionGroup], Wire("0+")] = []


class Topology(Struct, gc=False):
    epoch: Annotated[int32, Wire("0+")] = 0
    subtopologies: Annotated[list[Subtopology], Wire("0+")] = []


class StreamsGroupHeartbeatRequestTaskIds(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class StreamsGroupHeartbeatRequestEndpoint(Struct, gc=False):
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0


class TaskOffset(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    partition: Annotated[int32, Wire("0+")] = 0
    offset: Annotated[int64, Wire("0+")] = 0


class StreamsGroupHeartbeatRequest(Struct, gc=False):
    """A member of a Streams group joins, stays, leaves, and reports its tasks."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=88, listeners=("broker",)
    )

    group_id: Annotated[string, Wire("0+")] = ""
    member_id: Annotated[string, Wire("0+")] = ""
    member_epoch: Annotated[int32, Wire("0+")] = 0
    endpoint_information_epoch: Annotated[int32, Wire("0+")] = 0
    instance_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    rack_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    rebalance_timeout_ms: Annotated[int32, Wire("0+")] = -1
    topology: Annotated[Topology | None, Wire("0+", nullable="0+")] = None
    active_tasks: Annotated[
        list[StreamsGroupHeartbeatRequestTaskIds] | None, Wire("0+", nullable="0+")
    ] = None
    standby_tasks: Annotated[
        list[StreamsGroupHeartbeatRequestTaskIds] | None, Wire("0+", nullable="0+")
    ] = None
    warmup_tasks: Annotated[
        list[StreamsGroupHeartbeatRequestTaskIds] | None, Wire("0+", nullable="0+")
    ] = None
    process_id: Annotated[string | None, Wire("0+", nullable="0+")] = None
    user_endpoint: Annotated[
        StreamsGroupHeartbeatRequestEndpoint | None, Wire("0+", nullable="0+")
    ] = None
    client_tags: Annotated[list[KeyValue] | None, Wire("0+", nullable="0+")] = None
    task_offsets: Annotated[list[TaskOffset] | None, Wire("0+", nullable="0+")] = None
    task_end_offsets: Annotated[list[TaskOffset] | None, Wire("0+", nullable="0+")] = None
    shutdown_application: Annotated[boolean, Wire("0+")] = False


class Status(Struct, gc=False):
    status_code: Annotated[int8, Wire("0+")] = 0
    status_detail: Annotated[string, Wire("0+")] = ""


class StreamsGroupHeartbeatResponseTaskIds(Struct, gc=False):
    subtopology_id: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class StreamsGroupHeartbeatResponseEndpoint(Struct, gc=False):
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0


class TopicPartition(Struct, gc=False):
    topic: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class EndpointToPartitions(Struct, gc=False):
    user_endpoint: Annotated[StreamsGroupHeartbeatResponseEndpoint, Wire("0+")] = field(
        default_factory=StreamsGroupHeartbeatResponseEndpoint
    )
    active_partitions: Annotated[list[TopicPartition], Wire("0+")] = []
    standby_partitions: Annotated[list[TopicPartition], Wire("0+")] = []


class StreamsGroupHeartbeatResponse(Struct, gc=False):
    """The member's epoch, its tasks, and what is wrong with the topology."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=88)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    member_id: Annotated[string, Wire("0+")] = ""
    member_epoch: Annotated[int32, Wire("0+")] = 0
    heartbeat_interval_ms: Annotated[int32, Wire("0+")] = 0
    acceptable_recovery_lag: Annotated[int32, Wire("0+")] = 0
    task_offset_interval_ms: Annotated[int32, Wire("0+")] = 0
    status: Annotated[list[Status] | None, Wire("0+", nullable="0+")] = []
    active_tasks: Annotated[
        list[StreamsGroupHeartbeatResponseTaskIds] | None, Wire("0+", nullable="0+")
    ] = None
    standby_tasks: Annotated[
        list[StreamsGroupHeartbeatResponseTaskIds] | None, Wire("0+", nullable="0+")
    ] = None
    warmup_tasks: Annotated[
        list[StreamsGroupHeartbeatResponseTaskIds] | None, Wire("0+", nullable="0+")
    ] = None
    endpoint_information_epoch: Annotated[int32, Wire("0+")] = 0
    partitions_by_user_endpoint: Annotated[
        list[EndpointToPartitions] | None, Wire("0+", nullable="0+")
    ] = None
