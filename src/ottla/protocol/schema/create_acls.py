"""CreateAcls, API key 30."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, string


class AclCreation(Struct, gc=False):
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""
    resource_pattern_type: Annotated[int8, Wire("1+")] = 3
    principal: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    operation: Annotated[int8, Wire("0+")] = 0
    permission_type: Annotated[int8, Wire("0+")] = 0


class CreateAclsRequest(Struct, gc=False):
    """Adds access rules."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-3", flexible="2+", key=30, listeners=("broker", "controller")
    )

    creations: Annotated[list[AclCreation], Wire("0+")] = []


class AclCreationResult(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class CreateAclsResponse(Struct, gc=False):
    """Which rules were added."""

    WIRE: ClassVar[Message] = Message("response", versions="1-3", flexible="2+", key=30)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    results: Annotated[list[AclCreationResult], Wire("0+")] = []
