"""DescribeDelegationToken, API key 41."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, blob, int16, int32, int64, string


class DescribeDelegationTokenOwner(Struct, gc=False):
    principal_type: Annotated[string, Wire("0+")] = ""
    principal_name: Annotated[string, Wire("0+")] = ""


class DescribeDelegationTokenRequest(Struct, gc=False):
    """Asks for the tokens of some owners, or of all."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-3", flexible="2+", key=41, listeners=("broker", "controller")
    )

    owners: Annotated[list[DescribeDelegationTokenOwner] | None, Wire("0+", nullable="0+")] = []


class DescribedDelegationTokenRenewer(Struct, gc=False):
    principal_type: Annotated[string, Wire("0+")] = ""
    principal_name: Annotated[string, Wire("0+")] = ""


class DescribedDelegationToken(Struct, gc=False):
    principal_type: Annotated[string, Wire("0+")] = ""
    principal_name: Annotated[string, Wire("0+")] = ""
    token_requester_principal_type: Annotated[string, Wire("3+")] = ""
    token_requester_principal_name: Annotated[string, Wire("3+")] = ""
    issue_timestamp: Annotated[int64, Wire("0+")] = 0
    expiry_timestamp: Annotated[int64, Wire("0+")] = 0
    max_timestamp: Annotated[int64, Wire("0+")] = 0
    token_id: Annotated[string, Wire("0+")] = ""
    hmac: Annotated[blob, Wire("0+")] = b""
    renewers: Annotated[list[DescribedDelegationTokenRenewer], Wire("0+")] = []


class DescribeDelegationTokenResponse(Struct, gc=False):
    """The tokens that the caller may see."""

    WIRE: ClassVar[Message] = Message("response", versions="1-3", flexible="2+", key=41)

    error_code: Annotated[int16, Wire("0+")] = 0
    tokens: Annotated[list[DescribedDelegationToken], Wire("0+")] = []
    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
