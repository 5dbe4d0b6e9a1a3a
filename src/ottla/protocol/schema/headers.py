"""What stands before each request and response."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, string


class RequestHeader(Struct, gc=False):
    """Before each request: which API, which version, and an id that the answer repeats."""

    WIRE: ClassVar[Message] = Message("header", versions="1-2", flexible="2+")

    request_api_key: Annotated[int16, Wire("0+")] = 0
    request_api_version: Annotated[int16, Wire("0+")] = 0
    correlation_id: Annotated[int32, Wire("0+")] = 0
    client_id: Annotated[string | None, Wire("1+", nullable="1+", flexible="none")] = ""


class ResponseHeader(Struct, gc=False):
    """Before each response: the id of its request."""

    WIRE: ClassVar[Message] = Message("header", versions="0-1", flexible="1+")

    correlation_id: Annotated[int32, Wire("0+")] = 0
