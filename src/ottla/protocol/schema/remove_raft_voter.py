"""RemoveRaftVoter, API key 81."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uuid


class RemoveRaftVoterRequest(Struct, gc=False):
    """Takes a node out of the voters of the metadata quorum (KIP-853)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=81, listeners=("controller", "broker")
    )

    cluster_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    voter_id: Annotated[int32, Wire("0+")] = 0
    voter_directory_id: Annotated[uuid, Wire("0+")] = NO_UUID


class RemoveRaftVoterResponse(Struct, gc=False):
    """Whether the voter was removed."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=81)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+", ignorable=True)] = ""
