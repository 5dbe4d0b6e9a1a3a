"""SaslHandshake, API key 17."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, string


class SaslHandshakeRequest(Struct, gc=False):
    """Names the SASL mechanism that the client wants."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="none", key=17, listeners=("broker", "controller")
    )

    mechanism: Annotated[string, Wire("0+")] = ""


class SaslHandshakeResponse(Struct, gc=False):
    """Whether the mechanism is enabled, and which are."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="none", key=17)

    error_code: Annotated[int16, Wire("0+")] = 0
    mechanisms: Annotated[list[string], Wire("0+")] = []
