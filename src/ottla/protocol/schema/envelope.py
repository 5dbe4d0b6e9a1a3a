"""Envelope, API key 58."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, blob, int16


class EnvelopeRequest(Struct, gc=False):
    """A broker forwards a client's request, and says who the client is (KIP-590)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=58, listeners=("controller",)
    )

    request_data: Annotated[blob, Wire("0+")] = b""
    request_principal: Annotated[blob | None, Wire("0+", nullable="0+")] = b""
    client_host_address: Annotated[blob, Wire("0+")] = b""


class EnvelopeResponse(Struct, gc=False):
    """The answer to the request inside the envelope."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=58)

    response_data: Annotated[blob | None, Wire("0+", nullable="0+")] = None
    error_code: Annotated[int16, Wire("0+")] = 0
