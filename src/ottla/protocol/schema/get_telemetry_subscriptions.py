"""GetTelemetrySubscriptions, API key 71."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string, uuid


class GetTelemetrySubscriptionsRequest(Struct, gc=False):
    """A client asks which of its metrics the cluster wants (KIP-714)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=71, listeners=("broker",)
    )

    client_instance_id: Annotated[uuid, Wire("0+")] = NO_UUID


class GetTelemetrySubscriptionsResponse(Struct, gc=False):
    """The metrics wanted, how often, and in which compression."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=71)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    client_instance_id: Annotated[uuid, Wire("0+")] = NO_UUID
    subscription_id: Annotated[int32, Wire("0+")] = 0
    accepted_compression_types: Annotated[list[int8], Wire("0+")] = []
    push_interval_ms: Annotated[int32, Wire("0+")] = 0
    telemetry_max_bytes: Annotated[int32, Wire("0+")] = 0
    delta_temporality: Annotated[boolean, Wire("0+")] = False
    requested_metrics: Annotated[list[string], Wire("0+")] = []
