"""PushTelemetry, API key 72."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, blob, boolean, int8, int16, int32, uuid


class PushTelemetryRequest(Struct, gc=False):
    """A client delivers the metrics that were asked of it (KIP-714)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=72, listeners=("broker",)
    )

    client_instance_id: Annotated[uuid, Wire("0+")] = NO_UUID
    subscription_id: Annotated[int32, Wire("0+")] = 0
    terminating: Annotated[boolean, Wire("0+")] = False
    compression_type: Annotated[int8, Wire("0+")] = 0
    metrics: Annotated[blob, Wire("0+")] = b""


class PushTelemetryResponse(Struct, gc=False):
    """Whether the metrics were taken."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=72)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
