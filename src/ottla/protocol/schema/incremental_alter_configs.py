"""IncrementalAlterConfigs, API key 44."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string


class AlterableConfig(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    config_operation: Annotated[int8, Wire("0+")] = 0
    value: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class AlterConfigsResource(Struct, gc=False):
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""
    configs: Annotated[list[AlterableConfig], Wire("0+")] = []


class IncrementalAlterConfigsRequest(Struct, gc=False):
    """Sets, deletes, appends to and subtracts from single configs."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="1+", key=44, listeners=("broker", "controller")
    )

    resources: Annotated[list[AlterConfigsResource], Wire("0+")] = []
    validate_only: Annotated[boolean, Wire("0+")] = False


class AlterConfigsResourceResponse(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""


class IncrementalAlterConfigsResponse(Struct, gc=False):
    """What became of each resource's configs."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="1+", key=44)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    responses: Annotated[list[AlterConfigsResourceResponse], Wire("0+")] = []
