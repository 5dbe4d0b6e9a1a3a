"""ExpireDelegationToken, API key 40."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, blob, int16, int32, int64


class ExpireDelegationTokenRequest(Struct, gc=False):
    """Changes when a token ends; a negative time ends it now."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-2", flexible="2+", key=40, listeners=("broker", "controller")
    )

    hmac: Annotated[blob, Wire("0+")] = b""
    expiry_time_period_ms: Annotated[int64, Wire("0+")] = 0


class ExpireDelegationTokenResponse(Struct, gc=False):
    """When the token ends now."""

    WIRE: ClassVar[Message] = Message("response", versions="1-2", flexible="2+", key=40)

    error_code: Annotated[int16, Wire("0+")] = 0
    expiry_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
