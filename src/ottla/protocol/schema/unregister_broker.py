"""UnregisterBroker, API key 64."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, string


class UnregisterBrokerRequest(Struct, gc=False):
    """Removes a broker that will not come back."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=64, listeners=("broker", "controller")
    )

    broker_id: Annotated[int32, Wire("0+")] = 0


class UnregisterBrokerResponse(Struct, gc=False):
    """Whether the broker was removed."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=64)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
