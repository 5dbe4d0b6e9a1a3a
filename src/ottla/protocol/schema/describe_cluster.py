"""DescribeCluster, API key 60."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string


class DescribeClusterRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="0+", key=60, listeners=("broker", "controller")
    )

    include_cluster_authorized_operations: Annotated[boolean, Wire("0+")] = False
    endpoint_type: Annotated[int8, Wire("1+")] = 1
    include_fenced_brokers: Annotated[boolean, Wire("2+")] = False


class DescribeClusterBroker(Struct, gc=False):
    broker_id: Annotated[int32, Wire("0+")] = 0
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[int32, Wire("0+")] = 0
    rack: Annotated[string | None, Wire("0+", nullable="0+")] = None
    is_fenced: Annotated[boolean, Wire("2+")] = False


class DescribeClusterResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="0+", key=60)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = None
    endpoint_type: Annotated[int8, Wire("1+")] = 1
    cluster_id: Annotated[string, Wire("0+")] = ""
    controller_id: Annotated[int32, Wire("0+")] = -1
    brokers: Annotated[list[DescribeClusterBroker], Wire("0+")] = []
    cluster_authorized_operations: Annotated[int32, Wire("0+")] = -2147483648
