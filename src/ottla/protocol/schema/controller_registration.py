"""ControllerRegistration, API key 70."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int16, int32, string, uint16, uuid


class Listener(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0
    security_protocol: Annotated[int16, Wire("0+")] = 0


class Feature(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    min_supported_version: Annotated[int16, Wire("0+")] = 0
    max_supported_version: Annotated[int16, Wire("0+")] = 0


class ControllerRegistrationRequest(Struct, gc=False):
    """A controller introduces itself to the active one."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=70, listeners=("controller",)
    )

    controller_id: Annotated[int32, Wire("0+")] = 0
    incarnation_id: Annotated[uuid, Wire("0+")] = NO_UUID
    zk_migration_ready: Annotated[boolean, Wire("0+")] = False
    listeners: Annotated[list[Listener], Wire("0+")] = []
    features: Annotated[list[Feature], Wire("0+")] = []


class ControllerRegistrationResponse(Struct, gc=False):
    """Whether the controller is registered."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=70)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
