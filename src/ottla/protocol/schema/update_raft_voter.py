"""UpdateRaftVoter, API key 82."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, string, uint16, uuid


class Listener(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0


class KRaftVersionFeature(Struct, gc=False):
    min_supported_version: Annotated[int16, Wire("0+")] = 0
    max_supported_version: Annotated[int16, Wire("0+")] = 0


class UpdateRaftVoterRequest(Struct, gc=False):
    """A voter tells the quorum's leader its endpoints and kraft.version range."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=82, listeners=("controller",)
    )

    cluster_id: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    current_leader_epoch: Annotated[int32, Wire("0+")] = 0
    voter_id: Annotated[int32, Wire("0+")] = 0
    voter_directory_id: Annotated[uuid, Wire("0+")] = NO_UUID
    listeners: Annotated[list[Listener], Wire("0+")] = []
    kraft_version_feature: Annotated[KRaftVersionFeature, Wire("0+")] = field(
        default_factory=KRaftVersionFeature
    )


class CurrentLeader(Struct, gc=False):
    leader_id: Annotated[int32, Wire("0+")] = -1
    leader_epoch: Annotated[int32, Wire("0+")] = -1
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[int32, Wire("0+")] = 0


class UpdateRaftVoterResponse(Struct, gc=False):
    """Whether the voter's new facts hold, and who leads."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=82)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    current_leader: Annotated[CurrentLeader, Wire("0+", tag=0)] = field(
        default_factory=CurrentLeader
    )
