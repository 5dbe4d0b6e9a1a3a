"""SaslAuthenticate, API key 36."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, blob, int16, int64, string


class SaslAuthenticateRequest(Struct, gc=False):
    """One step of the client in a SASL exchange."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="2+", key=36, listeners=("broker", "controller")
    )

    auth_bytes: Annotated[blob, Wire("0+")] = b""


class SaslAuthenticateResponse(Struct, gc=False):
    """The server's step, and for how long the session holds."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="2+", key=36)

    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    auth_bytes: Annotated[blob, Wire("0+")] = b""
    session_lifetime_ms: Annotated[int64, Wire("1+", ignorable=True)] = 0
