"""DescribeUserScramCredentials, API key 50."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int8, int16, int32, string


class UserName(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""


class DescribeUserScramCredentialsRequest(Struct, gc=False):
    """Asks which SCRAM credentials users have."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=50, listeners=("broker", "controller")
    )

    users: Annotated[list[UserName] | None, Wire("0+", nullable="0+")] = []


class CredentialInfo(Struct, gc=False):
    mechanism: Annotated[int8, Wire("0+")] = 0
    iterations: Annotated[int32, Wire("0+")] = 0


class DescribeUserScramCredentialsResult(Struct, gc=False):
    user: Annotated[string, Wire("0+")] = ""
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    credential_infos: Annotated[list[CredentialInfo], Wire("0+")] = []


class DescribeUserScramCredentialsResponse(Struct, gc=False):
    """The mechanisms and iterations of each user; never a secret."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=50)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    results: Annotated[list[DescribeUserScramCredentialsResult], Wire("0+")] = []
