"""DescribeCluster, API key 60."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string


class DescribeClusterRequest(Struct, gc=False):
    """Asks which brokers, or which controllers, make up the cluster."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="0+", key=60, listeners=("broker", "controller")
    )

    include_cluster_authorized_operations: Annotated[
        boolean, Wire("0+", about="Whether to say what the caller may do to the cluster.")
    ] = False
    endpoint_type: Annotated[int8, Wire("1+", about="1 asks for brokers, 2 for controllers.")] = 1
    include_fenced_brokers: Annotated[
        boolean, Wire("2+", about="Whether brokers are listed that serve nobody just now.")
    ] = False


class DescribeClusterBroker(Struct, gc=False):
    broker_id: Annotated[int32, Wire("0+", about="The node.")] = 0
    host: Annotated[string, Wire("0+", about="Where it is to be reached.")] = ""
    port: Annotated[int32, Wire("0+", about="And on which port.")] = 0
    rack: Annotated[string | None, Wire("0+", nullable="0+", about="Its rack, if it has one.")] = (
        None
    )
    is_fenced: Annotated[
        boolean, Wire("2+", about="Whether it is registered but kept from serving.")
    ] = False


class DescribeClusterResponse(Struct, gc=False):
    """The cluster's id, its controller and its nodes."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="0+", key=60)

    throttle_time_ms: Annotated[
        int32, Wire("0+", about="For how long the client was held back by a quota.")
    ] = 0
    error_code: Annotated[int16, Wire("0+", about="Why nothing is described, or 0.")] = 0
    error_message: Annotated[
        string | None, Wire("0+", nullable="0+", about="The same in words.")
    ] = None
    endpoint_type: Annotated[
        int8, Wire("1+", about="What the nodes below are: 1 brokers, 2 controllers.")
    ] = 1
    cluster_id: Annotated[string, Wire("0+", about="The cluster's id.")] = ""
    controller_id: Annotated[
        int32, Wire("0+", about="The active controller, or a broker that forwards to it.")
    ] = -1
    brokers: Annotated[list[DescribeClusterBroker], Wire("0+", about="The nodes.")] = []
    cluster_authorized_operations: Annotated[
        int32,
        Wire("0+", about="What the caller may do, as bits; the lowest number when not asked."),
    ] = -2147483648
