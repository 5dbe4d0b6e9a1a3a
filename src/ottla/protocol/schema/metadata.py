"""Metadata, API key 3."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int16, int32, string, uuid


class MetadataRequestTopic(Struct, gc=False):
    topic_id: Annotated[
        uuid,
        Wire("10+", ignorable=True, about="Asks by id when it is not zero; then the name is null."),
    ] = NO_UUID
    name: Annotated[string | None, Wire("0+", nullable="10+", about="Asks by name.")] = ""


class MetadataRequest(Struct, gc=False):
    """Asks where topics are; it may create them."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-13", flexible="9+", key=3, listeners=("broker",)
    )

    topics: Annotated[
        list[MetadataRequestTopic] | None,
        Wire(
            "0+",
            nullable="1+",
            about="Null asks for all topics, an empty list for none; in version 0 empty means all.",
        ),
    ] = []
    allow_auto_topic_creation: Annotated[
        boolean, Wire("4+", about="Whether an unknown topic may be created on the spot.")
    ] = True
    include_cluster_authorized_operations: Annotated[
        boolean, Wire("8-10", about="Whether to say what the caller may do to the cluster.")
    ] = False
    include_topic_authorized_operations: Annotated[
        boolean, Wire("8+", about="Whether to say what the caller may do to each topic.")
    ] = False


class MetadataResponseBroker(Struct, gc=False):
    node_id: Annotated[int32, Wire("0+", about="The broker.")] = 0
    host: Annotated[
        string, Wire("0+", about="Where the listener that was asked is to be reached.")
    ] = ""
    port: Annotated[int32, Wire("0+", about="And on which port.")] = 0
    rack: Annotated[
        string | None, Wire("1+", nullable="1+", ignorable=True, about="Its rack, if it has one.")
    ] = None


class MetadataResponsePartition(Struct, gc=False):
    error_code: Annotated[
        int16, Wire("0+", about="LEADER_NOT_AVAILABLE and its like, for one partition.")
    ] = 0
    partition_index: Annotated[int32, Wire("0+", about="The partition.")] = 0
    leader_id: Annotated[int32, Wire("0+", about="Its leader; -1 when there is none.")] = 0
    leader_epoch: Annotated[
        int32,
        Wire(
            "7+",
            ignorable=True,
            about="The epoch of that leader, so that older answers can be told apart.",
        ),
    ] = -1
    replica_nodes: Annotated[list[int32], Wire("0+", about="The brokers that keep it.")] = []
    isr_nodes: Annotated[list[int32], Wire("0+", about="Those of them that are in sync.")] = []
    offline_replicas: Annotated[
        list[int32], Wire("5+", ignorable=True, about="Those of them that cannot be reached.")
    ] = []


class MetadataResponseTopic(Struct, gc=False):
    error_code: Annotated[
        int16, Wire("0+", about="Why there is no more to say about the topic, or 0.")
    ] = 0
    name: Annotated[
        string | None,
        Wire(
            "0+",
            nullable="12+",
            about="Its name; null when it was asked for by an id that nobody knows.",
        ),
    ] = ""
    topic_id: Annotated[uuid, Wire("10+", ignorable=True, about="Its id.")] = NO_UUID
    is_internal: Annotated[
        boolean,
        Wire(
            "1+",
            ignorable=True,
            about="Whether it belongs to the cluster itself, such as __consumer_offsets.",
        ),
    ] = False
    partitions: Annotated[list[MetadataResponsePartition], Wire("0+", about="Its partitions.")] = []
    topic_authorized_operations: Annotated[
        int32,
        Wire("8+", about="What the caller may do, as bits; the lowest number when not asked."),
    ] = -2147483648


class MetadataResponse(Struct, gc=False):
    """The brokers, and the leader and replicas of each partition asked for."""

    WIRE: ClassVar[Message] = Message("response", versions="0-13", flexible="9+", key=3)

    throttle_time_ms: Annotated[
        int32, Wire("3+", ignorable=True, about="For how long the client was held back by a quota.")
    ] = 0
    brokers: Annotated[
        list[MetadataResponseBroker], Wire("0+", about="Every broker that is alive and unfenced.")
    ] = []
    cluster_id: Annotated[
        string | None, Wire("2+", nullable="2+", ignorable=True, about="The cluster's id.")
    ] = None
    controller_id: Annotated[
        int32,
        Wire(
            "1+",
            ignorable=True,
            about="Where to send admin requests; a broker that forwards them may name itself.",
        ),
    ] = -1
    topics: Annotated[list[MetadataResponseTopic], Wire("0+", about="The topics asked for.")] = []
    cluster_authorized_operations: Annotated[
        int32,
        Wire("8-10", about="What the caller may do, as bits; the lowest number when not asked."),
    ] = -2147483648
    error_code: Annotated[
        int16,
        Wire(
            "13+",
            ignorable=True,
            about="REBOOTSTRAP_REQUIRED, when the client should begin again (KIP-1102).",
        ),
    ] = 0
