"""AlterConfigs, API key 33."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string


class AlterableConfig(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    value: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class AlterConfigsResource(Struct, gc=False):
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""
    configs: Annotated[list[AlterableConfig], Wire("0+")] = []


class AlterConfigsRequest(Struct, gc=False):
    """Replaces all dynamic configs of a resource at once; the incremental form is better."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="2+", key=33, listeners=("broker", "controller")
    )

    resources: Annotated[list[AlterConfigsResource], Wire("0+")] = []
    validate_only: Annotated[boolean, Wire("0+")] = False


class AlterConfigsResourceResponse(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""


class AlterConfigsResponse(Struct, gc=False):
    """What became of each resource's configs."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="2+", key=33)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    responses: Annotated[list[AlterConfigsResourceResponse], Wire("0+")] = []
