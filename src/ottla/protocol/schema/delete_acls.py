"""DeleteAcls, API key 31."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, string


class DeleteAclsFilter(Struct, gc=False):
    resource_type_filter: Annotated[int8, Wire("0+")] = 0
    resource_name_filter: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    pattern_type_filter: Annotated[int8, Wire("1+")] = 3
    principal_filter: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    host_filter: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    operation: Annotated[int8, Wire("0+")] = 0
    permission_type: Annotated[int8, Wire("0+")] = 0


class DeleteAclsRequest(Struct, gc=False):
    """Removes the access rules that match any of the filters."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-3", flexible="2+", key=31, listeners=("broker", "controller")
    )

    filters: Annotated[list[DeleteAclsFilter], Wire("0+")] = []


class DeleteAclsMatchingAcl(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""
    pattern_type: Annotated[int8, Wire("1+")] = 3
    principal: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    operation: Annotated[int8, Wire("0+")] = 0
    permission_type: Annotated[int8, Wire("0+")] = 0


class DeleteAclsFilterResult(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    matching_acls: Annotated[list[DeleteAclsMatchingAcl], Wire("0+")] = []


class DeleteAclsResponse(Struct, gc=False):
    """The rules that each filter removed."""

    WIRE: ClassVar[Message] = Message("response", versions="1-3", flexible="2+", key=31)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    filter_results: Annotated[list[DeleteAclsFilterResult], Wire("0+")] = []
