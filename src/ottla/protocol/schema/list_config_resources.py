"""ListConfigResources, API key 74."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, string


class ListConfigResourcesRequest(Struct, gc=False):
    """Asks which resources of some types have configs."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="0+", key=74, listeners=("broker",)
    )

    resource_types: Annotated[list[int8], Wire("1+")] = []


class ConfigResource(Struct, gc=False):
    resource_name: Annotated[string, Wire("0+")] = ""
    resource_type: Annotated[int8, Wire("1+", ignorable=True)] = 16


class ListConfigResourcesResponse(Struct, gc=False):
    """The names and types of those resources."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="0+", key=74)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    config_resources: Annotated[list[ConfigResource], Wire("0+")] = []
