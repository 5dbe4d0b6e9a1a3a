"""Metadata, API key 3."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int16, int32, string, uuid


class MetadataRequestTopic(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("10+", ignorable=True)] = NO_UUID
    name: Annotated[string | None, Wire("0+", nullable="10+")] = ""


class MetadataRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="0-13", flexible="9+", key=3, listeners=("broker",)
    )

    topics: Annotated[list[MetadataRequestTopic] | None, Wire("0+", nullable="1+")] = []
    allow_auto_topic_creation: Annotated[boolean, Wire("4+")] = True
    include_cluster_authorized_operations: Annotated[boolean, Wire("8-10")] = False
    include_topic_authorized_operations: Annotated[boolean, Wire("8+")] = False


class MetadataResponseBroker(Struct, gc=False):
    node_id: Annotated[int32, Wire("0+")] = 0
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[int32, Wire("0+")] = 0
    rack: Annotated[string | None, Wire("1+", nullable="1+", ignorable=True)] = None


class MetadataResponsePartition(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    partition_index: Annotated[int32, Wire("0+")] = 0
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("7+", ignorable=True)] = -1
    replica_nodes: Annotated[list[int32], Wire("0+")] = []
    isr_nodes: Annotated[list[int32], Wire("0+")] = []
    offline_replicas: Annotated[list[int32], Wire("5+", ignorable=True)] = []


class MetadataResponseTopic(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    name: Annotated[string | None, Wire("0+", nullable="12+")] = ""
    topic_id: Annotated[uuid, Wire("10+", ignorable=True)] = NO_UUID
    is_internal: Annotated[boolean, Wire("1+", ignorable=True)] = False
    partitions: Annotated[list[MetadataResponsePartition], Wire("0+")] = []
    topic_authorized_operations: Annotated[int32, Wire("8+")] = -2147483648


class MetadataResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="0-13", flexible="9+", key=3)

    throttle_time_ms: Annotated[int32, Wire("3+", ignorable=True)] = 0
    brokers: Annotated[list[MetadataResponseBroker], Wire("0+")] = []
    cluster_id: Annotated[string | None, Wire("2+", nullable="2+", ignorable=True)] = None
    controller_id: Annotated[int32, Wire("1+", ignorable=True)] = -1
    topics: Annotated[list[MetadataResponseTopic], Wire("0+")] = []
    cluster_authorized_operations: Annotated[int32, Wire("8-10")] = -2147483648
    error_code: Annotated[int16, Wire("13+", ignorable=True)] = 0
