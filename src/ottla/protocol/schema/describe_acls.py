"""DescribeAcls, API key 29."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, string


class DescribeAclsRequest(Struct, gc=False):
    """Asks for the access rules that match a filter."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-3", flexible="2+", key=29, listeners=("broker", "controller")
    )

    resource_type_filter: Annotated[int8, Wire("0+")] = 0
    resource_name_filter: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    pattern_type_filter: Annotated[int8, Wire("1+")] = 3
    principal_filter: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    host_filter: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    operation: Annotated[int8, Wire("0+")] = 0
    permission_type: Annotated[int8, Wire("0+")] = 0


class AclDescription(Struct, gc=False):
    principal: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    operation: Annotated[int8, Wire("0+")] = 0
    permission_type: Annotated[int8, Wire("0+")] = 0


class DescribeAclsResource(Struct, gc=False):
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""
    pattern_type: Annotated[int8, Wire("1+")] = 3
    acls: Annotated[list[AclDescription], Wire("0+")] = []


class DescribeAclsResponse(Struct, gc=False):
    """The rules, by resource."""

    WIRE: ClassVar[Message] = Message("response", versions="1-3", flexible="2+", key=29)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    resources: Annotated[list[DescribeAclsResource], Wire("0+")] = []
