"""CreateTopics, API key 19."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string, uuid


class CreatableReplicaAssignment(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+", about="The partition.")] = 0
    broker_ids: Annotated[
        list[int32], Wire("0+", about="Where its replicas go; the first is to lead.")
    ] = []


class CreatableTopicConfig(Struct, gc=False):
    name: Annotated[string, Wire("0+", about="The config's name.")] = ""
    value: Annotated[string | None, Wire("0+", nullable="0+", about="Its value.")] = ""


class CreatableTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+", about="The topic.")] = ""
    num_partitions: Annotated[
        int32,
        Wire("0+", about="How many partitions; -1 for the default, or when they are placed below."),
    ] = 0
    replication_factor: Annotated[
        int16,
        Wire(
            "0+", about="How many replicas each; -1 for the default, or when they are placed below."
        ),
    ] = 0
    assignments: Annotated[
        list[CreatableReplicaAssignment], Wire("0+", about="Where replicas go, chosen by hand.")
    ] = []
    configs: Annotated[list[CreatableTopicConfig], Wire("0+", about="Configs of its own.")] = []


class CreateTopicsRequest(Struct, gc=False):
    """Creates topics, or only checks whether they could be created."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="2-7", flexible="5+", key=19, listeners=("broker", "controller")
    )

    topics: Annotated[list[CreatableTopic], Wire("0+", about="The topics.")] = []
    timeout_ms: Annotated[int32, Wire("0+", about="How long to wait until they exist.")] = 60000
    validate_only: Annotated[boolean, Wire("1+", about="Whether to check without creating.")] = (
        False
    )


class CreatableTopicConfigs(Struct, gc=False):
    name: Annotated[string, Wire("5+", about="The config's name.")] = ""
    value: Annotated[
        string | None, Wire("5+", nullable="5+", about="Its value; null for a secret.")
    ] = ""
    read_only: Annotated[boolean, Wire("5+", about="Whether it cannot be changed.")] = False
    config_source: Annotated[
        int8, Wire("5+", ignorable=True, about="Where the value comes from.")
    ] = -1
    is_sensitive: Annotated[boolean, Wire("5+", about="Whether it is a secret.")] = False


class CreatableTopicResult(Struct, gc=False):
    name: Annotated[string, Wire("0+", about="The topic.")] = ""
    topic_id: Annotated[uuid, Wire("7+", ignorable=True, about="Its new id.")] = NO_UUID
    error_code: Annotated[int16, Wire("0+", about="Why it was not created, or 0.")] = 0
    error_message: Annotated[
        string | None, Wire("1+", nullable="0+", ignorable=True, about="The same in words.")
    ] = ""
    topic_config_error_code: Annotated[
        int16, Wire("5+", tag=0, ignorable=True, about="Why its configs are not told.")
    ] = 0
    num_partitions: Annotated[
        int32, Wire("5+", ignorable=True, about="How many partitions it got.")
    ] = -1
    replication_factor: Annotated[
        int16, Wire("5+", ignorable=True, about="How many replicas each.")
    ] = -1
    configs: Annotated[
        list[CreatableTopicConfigs] | None,
        Wire("5+", nullable="5+", ignorable=True, about="All its configs, as they are in effect."),
    ] = []


class CreateTopicsResponse(Struct, gc=False):
    """What became of each topic and, since version 5, with what it was made."""

    WIRE: ClassVar[Message] = Message("response", versions="2-7", flexible="5+", key=19)

    throttle_time_ms: Annotated[
        int32,
        Wire("2+", ignorable=True, about="For how long the client must pause, because of a quota."),
    ] = 0
    topics: Annotated[list[CreatableTopicResult], Wire("0+", about="What became of each.")] = []
