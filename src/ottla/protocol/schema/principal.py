"""Who a forwarded request came from."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, string


class DefaultPrincipalData(Struct, gc=False):
    """Who sent a request that comes in an envelope."""

    WIRE: ClassVar[Message] = Message("data", versions="0", flexible="0+")

    type: Annotated[string, Wire("0+")] = ""
    name: Annotated[string, Wire("0+")] = ""
    token_authenticated: Annotated[boolean, Wire("0+")] = False
