"""DescribeClientQuotas, API key 48."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, float64, int8, int16, int32, string


class ComponentData(Struct, gc=False):
    entity_type: Annotated[string, Wire("0+")] = ""
    match_type: Annotated[int8, Wire("0+")] = 0
    match: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class DescribeClientQuotasRequest(Struct, gc=False):
    """Asks for the quotas that match."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="1+", key=48, listeners=("broker",)
    )

    components: Annotated[list[ComponentData], Wire("0+")] = []
    strict: Annotated[boolean, Wire("0+")] = False


class EntityData(Struct, gc=False):
    entity_type: Annotated[string, Wire("0+")] = ""
    entity_name: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class ValueData(Struct, gc=False):
    key: Annotated[string, Wire("0+")] = ""
    value: Annotated[float64, Wire("0+")] = 0.0


class EntryData(Struct, gc=False):
    entity: Annotated[list[EntityData], Wire("0+")] = []
    values: Annotated[list[ValueData], Wire("0+")] = []


class DescribeClientQuotasResponse(Struct, gc=False):
    """The quotas, by whom they bind."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="1+", key=48)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    entries: Annotated[list[EntryData] | None, Wire("0+", nullable="0+")] = []
