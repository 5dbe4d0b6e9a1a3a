"""CreateTopics, API key 19."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string, uuid


class CreatableReplicaAssignment(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    broker_ids: Annotated[list[int32], Wire("0+")] = []


class CreatableTopicConfig(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    value: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class CreatableTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    num_partitions: Annotated[int32, Wire("0+")] = 0
    replication_factor: Annotated[int16, Wire("0+")] = 0
    assignments: Annotated[list[CreatableReplicaAssignment], Wire("0+")] = []
    configs: Annotated[list[CreatableTopicConfig], Wire("0+")] = []


class CreateTopicsRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="2-7", flexible="5+", key=19, listeners=("broker", "controller")
    )

    topics: Annotated[list[CreatableTopic], Wire("0+")] = []
    timeout_ms: Annotated[int32, Wire("0+")] = 60000
    validate_only: Annotated[boolean, Wire("1+")] = False


class CreatableTopicConfigs(Struct, gc=False):
    name: Annotated[string, Wire("5+")] = ""
    value: Annotated[string | None, Wire("5+", nullable="5+")] = ""
    read_only: Annotated[boolean, Wire("5+")] = False
    config_source: Annotated[int8, Wire("5+", ignorable=True)] = -1
    is_sensitive: Annotated[boolean, Wire("5+")] = False


class CreatableTopicResult(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    topic_id: Annotated[uuid, Wire("7+", ignorable=True)] = NO_UUID
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("1+", nullable="0+", ignorable=True)] = ""
    topic_config_error_code: Annotated[int16, Wire("5+", tag=0, ignorable=True)] = 0
    num_partitions: Annotated[int32, Wire("5+", ignorable=True)] = -1
    replication_factor: Annotated[int16, Wire("5+", ignorable=True)] = -1
    configs: Annotated[
        list[CreatableTopicConfigs] | None, Wire("5+", nullable="5+", ignorable=True)
    ] = []


class CreateTopicsResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="2-7", flexible="5+", key=19)

    throttle_time_ms: Annotated[int32, Wire("2+", ignorable=True)] = 0
    topics: Annotated[list[CreatableTopicResult], Wire("0+")] = []
