"""CreateDelegationToken, API key 38."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, blob, int16, int32, int64, string


class CreatableRenewers(Struct, gc=False):
    principal_type: Annotated[string, Wire("0+")] = ""
    principal_name: Annotated[string, Wire("0+")] = ""


class CreateDelegationTokenRequest(Struct, gc=False):
    """Asks for a token that acts for a user."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-3", flexible="2+", key=38, listeners=("broker", "controller")
    )

    owner_principal_type: Annotated[string | None, Wire("3+", nullable="3+")] = ""
    owner_principal_name: Annotated[string | None, Wire("3+", nullable="3+")] = ""
    renewers: Annotated[list[CreatableRenewers], Wire("0+")] = []
    max_lifetime_ms: Annotated[int64, Wire("0+")] = 0


class CreateDelegationTokenResponse(Struct, gc=False):
    """The token, its secret and how long it lives."""

    WIRE: ClassVar[Message] = Message("response", versions="1-3", flexible="2+", key=38)

    error_code: Annotated[int16, Wire("0+")] = 0
    principal_type: Annotated[string, Wire("0+")] = ""
    principal_name: Annotated[string, Wire("0+")] = ""
    token_requester_principal_type: Annotated[string, Wire("3+")] = ""
    token_requester_principal_name: Annotated[string, Wire("3+")] = ""
    issue_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    expiry_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    max_timestamp_ms: Annotated[int64, Wire("0+")] = 0
    token_id: Annotated[string, Wire("0+")] = ""
    hmac: Annotated[blob, Wire("0+")] = b""
    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
