"""AddRaftVoter, API key 80."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, boolean, int16, int32, string, uint16, uuid


class Listener(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0


class AddRaftVoterRequest(Struct, gc=False):
    """Adds a node to the voters of the metadata quorum (KIP-853)."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-1", flexible="0+", key=80, listeners=("controller", "broker")
    )

    cluster_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    timeout_ms: Annotated[int32, Wire("0+")] = 0
    voter_id: Annotated[int32, Wire("0+")] = 0
    voter_directory_id: Annotated[uuid, Wire("0+")] = NO_UUID
    listeners: Annotated[list[Listener], Wire("0+")] = []
    ack_when_committed: Annotated[boolean, Wire("1+")] = True


class AddRaftVoterResponse(Struct, gc=False):
    """Whether the voter was added."""

    WIRE: ClassVar[Message] = Message("response", versions="0-1", flexible="0+", key=80)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+", ignorable=True)] = ""
