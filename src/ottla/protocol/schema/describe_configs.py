"""DescribeConfigs, API key 32."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string


class DescribeConfigsResource(Struct, gc=False):
    resource_type: Annotated[
        int8, Wire("0+", about="2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.")
    ] = 0
    resource_name: Annotated[
        string,
        Wire(
            "0+", about="The topic, broker id or other name; empty for the default of all brokers."
        ),
    ] = ""
    configuration_keys: Annotated[
        list[string] | None, Wire("0+", nullable="0+", about="Which configs; null for all.")
    ] = []


class DescribeConfigsRequest(Struct, gc=False):
    """Asks for the configs of topics, brokers, loggers, groups or client metrics."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-4", flexible="4+", key=32, listeners=("broker", "controller")
    )

    resources: Annotated[list[DescribeConfigsResource], Wire("0+", about="Whose configs.")] = []
    include_synonyms: Annotated[
        boolean, Wire("1+", about="Whether to list every place that gives a value.")
    ] = False
    include_documentation: Annotated[
        boolean, Wire("3+", about="Whether to explain each config.")
    ] = False


class DescribeConfigsSynonym(Struct, gc=False):
    name: Annotated[string, Wire("1+", about="The name by which that place knows the config.")] = ""
    value: Annotated[
        string | None, Wire("1+", nullable="0+", about="The value there; null for a secret.")
    ] = ""
    source: Annotated[int8, Wire("1+", about="Which place it is.")] = 0


class DescribeConfigsResourceResult(Struct, gc=False):
    name: Annotated[string, Wire("0+", about="The config's name.")] = ""
    value: Annotated[
        string | None, Wire("0+", nullable="0+", about="Its value in effect; null for a secret.")
    ] = ""
    read_only: Annotated[
        boolean, Wire("0+", about="Whether it cannot be changed while the broker runs.")
    ] = False
    config_source: Annotated[
        int8, Wire("1+", ignorable=True, about="Which place gives the value.")
    ] = -1
    is_sensitive: Annotated[boolean, Wire("0+", about="Whether it is a secret.")] = False
    synonyms: Annotated[
        list[DescribeConfigsSynonym],
        Wire("1+", ignorable=True, about="Every place that gives a value, the strongest first."),
    ] = []
    config_type: Annotated[
        int8,
        Wire(
            "3+",
            ignorable=True,
            about="1 bool 2 string 3 int 4 short 5 long 6 double 7 list 8 class 9 password",
        ),
    ] = 0
    documentation: Annotated[
        string | None, Wire("3+", nullable="0+", ignorable=True, about="What it is for.")
    ] = ""


class DescribeConfigsResult(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+", about="Why nothing is described, or 0.")] = 0
    error_message: Annotated[
        string | None, Wire("0+", nullable="0+", about="The same in words.")
    ] = ""
    resource_type: Annotated[int8, Wire("0+", about="What kind of resource.")] = 0
    resource_name: Annotated[string, Wire("0+", about="Which one.")] = ""
    configs: Annotated[list[DescribeConfigsResourceResult], Wire("0+", about="Its configs.")] = []


class DescribeConfigsResponse(Struct, gc=False):
    """The configs of each resource, with where each value comes from."""

    WIRE: ClassVar[Message] = Message("response", versions="1-4", flexible="4+", key=32)

    throttle_time_ms: Annotated[
        int32, Wire("0+", about="For how long the client was held back by a quota.")
    ] = 0
    results: Annotated[list[DescribeConfigsResult], Wire("0+", about="One for each resource.")] = []
