"""AlterUserScramCredentials, API key 51."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, blob, int8, int16, int32, string


class ScramCredentialDeletion(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    mechanism: Annotated[int8, Wire("0+")] = 0


class ScramCredentialUpsertion(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    mechanism: Annotated[int8, Wire("0+")] = 0
    iterations: Annotated[int32, Wire("0+")] = 0
    salt: Annotated[blob, Wire("0+")] = b""
    salted_password: Annotated[blob, Wire("0+")] = b""


class AlterUserScramCredentialsRequest(Struct, gc=False):
    """Writes and deletes users' SCRAM credentials, already salted."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=51, listeners=("broker", "controller")
    )

    deletions: Annotated[list[ScramCredentialDeletion], Wire("0+")] = []
    upsertions: Annotated[list[ScramCredentialUpsertion], Wire("0+")] = []


class AlterUserScramCredentialsResult(Struct, gc=False):
    user: Annotated[string, Wire("0+")] = ""
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class AlterUserScramCredentialsResponse(Struct, gc=False):
    """What became of each user's credentials."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=51)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    results: Annotated[list[AlterUserScramCredentialsResult], Wire("0+")] = []
