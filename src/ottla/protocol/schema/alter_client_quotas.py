"""AlterClientQuotas, API key 49."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, float64, int16, int32, string


class AlterClientQuotasRequestEntityData(Struct, gc=False):
    entity_type: Annotated[string, Wire("0+")] = ""
    entity_name: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class OpData(Struct, gc=False):
    key: Annotated[string, Wire("0+")] = ""
    value: Annotated[float64, Wire("0+")] = 0.0
    remove: Annotated[boolean, Wire("0+")] = False


class AlterClientQuotasRequestEntryData(Struct, gc=False):
    entity: Annotated[list[AlterClientQuotasRequestEntityData], Wire("0+")] = []
    ops: Annotated[list[OpData], Wire("0+")] = []


class AlterClientQuotasRequest(Struct, gc=False):
    """Sets and removes quotas of users, clients and addresses."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="1+", key=49, listeners=("broker", "controller")
    )

    entries: Annotated[list[AlterClientQuotasRequestEntryData], Wire("0+")] = []
    validate_only: Annotated[boolean, Wire("0+")] = False


class AlterClientQuotasResponseEntityData(Struct, gc=False):
    entity_type: Annotated[string, Wire("0+")] = ""
    entity_name: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class AlterClientQuotasResponseEntryData(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    entity: Annotated[list[AlterClientQuotasResponseEntityData], Wire("0+")] = []


class AlterClientQuotasResponse(Struct, gc=False):
    """What became of each change of a quota."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="1+", key=49)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    entries: Annotated[list[AlterClientQuotasResponseEntryData], Wire("0+")] = []
