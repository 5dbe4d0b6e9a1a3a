"""DescribeConfigs, API key 32."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string


class DescribeConfigsResource(Struct, gc=False):
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""
    configuration_keys: Annotated[list[string] | None, Wire("0+", nullable="0+")] = []


class DescribeConfigsRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="1-4", flexible="4+", key=32, listeners=("broker", "controller")
    )

    resources: Annotated[list[DescribeConfigsResource], Wire("0+")] = []
    include_synonyms: Annotated[boolean, Wire("1+")] = False
    include_documentation: Annotated[boolean, Wire("3+")] = False


class DescribeConfigsSynonym(Struct, gc=False):
    name: Annotated[string, Wire("1+")] = ""
    value: Annotated[string | None, Wire("1+", nullable="0+")] = ""
    source: Annotated[int8, Wire("1+")] = 0


class DescribeConfigsResourceResult(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    value: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    read_only: Annotated[boolean, Wire("0+")] = False
    config_source: Annotated[int8, Wire("1+", ignorable=True)] = -1
    is_sensitive: Annotated[boolean, Wire("0+")] = False
    synonyms: Annotated[list[DescribeConfigsSynonym], Wire("1+", ignorable=True)] = []
    config_type: Annotated[int8, Wire("3+", ignorable=True)] = 0
    documentation: Annotated[string | None, Wire("3+", nullable="0+", ignorable=True)] = ""


class DescribeConfigsResult(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    resource_type: Annotated[int8, Wire("0+")] = 0
    resource_name: Annotated[string, Wire("0+")] = ""
    configs: Annotated[list[DescribeConfigsResourceResult], Wire("0+")] = []


class DescribeConfigsResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="1-4", flexible="4+", key=32)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    results: Annotated[list[DescribeConfigsResult], Wire("0+")] = []
