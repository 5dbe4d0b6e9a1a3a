"""BrokerRegistration, API key 62."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string, uint16, uuid


class Listener(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0
    security_protocol: Annotated[int16, Wire("0+")] = 0


class Feature(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    min_supported_version: Annotated[int16, Wire("0+")] = 0
    max_supported_version: Annotated[int16, Wire("0+")] = 0


class BrokerRegistrationRequest(Struct, gc=False):
    """A broker introduces itself with its endpoints, features and directories."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-4", flexible="0+", key=62, listeners=("controller",)
    )

    broker_id: Annotated[int32, Wire("0+")] = 0
    cluster_id: Annotated[string, Wire("0+")] = ""
    incarnation_id: Annotated[uuid, Wire("0+")] = NO_UUID
    listeners: Annotated[list[Listener], Wire("0+")] = []
    features: Annotated[list[Feature], Wire("0+")] = []
    rack: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    is_migrating_zk_broker: Annotated[boolean, Wire("1+")] = False
    log_dirs: Annotated[list[uuid], Wire("2+", ignorable=True)] = []
    previous_broker_epoch: Annotated[int64, Wire("3+", ignorable=True)] = -1


class BrokerRegistrationResponse(Struct, gc=False):
    """The epoch under which the broker is registered."""

    WIRE: ClassVar[Message] = Message("response", versions="0-4", flexible="0+", key=62)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    broker_epoch: Annotated[int64, Wire("0+")] = -1
