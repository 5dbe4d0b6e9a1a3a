"""Control records of a Raft log, and the quorum's state file."""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int16, int32, int64, string, uint16, uuid


class ControlRecordTypeSchema(Struct, gc=False):
    """The key of a control record: which kind of control it is."""

    WIRE: ClassVar[Message] = Message("data", versions="0", flexible="none")

    type: Annotated[int16, Wire("0+")] = 0


class KRaftVersionRecord(Struct, gc=False):
    """The log's kraft.version from here on."""

    WIRE: ClassVar[Message] = Message("data", versions="0", flexible="0+")

    version: Annotated[int16, Wire("0+")] = 0
    kraft_version: Annotated[int16, Wire("0+")] = 0


class LeaderChangeMessageVoter(Struct, gc=False):
    voter_id: Annotated[int32, Wire("0+")] = 0
    voter_directory_id: Annotated[uuid, Wire("1+")] = NO_UUID


class LeaderChangeMessage(Struct, gc=False):
    """A new leader of the quorum, the voters, and who voted for it."""

    WIRE: ClassVar[Message] = Message("data", versions="0-1", flexible="0+")

    version: Annotated[int16, Wire("0+")] = 0
    leader_id: Annotated[int32, Wire("0+")] = 0
    voters: Annotated[list[LeaderChangeMessageVoter], Wire("0+")] = []
    granting_voters: Annotated[list[LeaderChangeMessageVoter], Wire("0+")] = []


class QuorumStateDataVoter(Struct, gc=False):
    voter_id: Annotated[int32, Wire("0")] = 0


class QuorumStateData(Struct, gc=False):
    """The file `quorum-state`: epoch, leader and the vote that was given."""

    WIRE: ClassVar[Message] = Message("data", versions="0-1", flexible="0+")

    cluster_id: Annotated[string, Wire("0")] = ""
    leader_id: Annotated[int32, Wire("0+")] = -1
    leader_epoch: Annotated[int32, Wire("0+")] = -1
    voted_id: Annotated[int32, Wire("0+")] = -1
    voted_directory_id: Annotated[uuid, Wire("1+")] = NO_UUID
    applied_offset: Annotated[int64, Wire("0")] = 0
    current_voters: Annotated[list[QuorumStateDataVoter] | None, Wire("0", nullable="0")] = []


class SnapshotFooterRecord(Struct, gc=False):
    """The end of a snapshot: without it the file is not whole."""

    WIRE: ClassVar[Message] = Message("data", versions="0", flexible="0+")

    version: Annotated[int16, Wire("0+")] = 0


class SnapshotHeaderRecord(Struct, gc=False):
    """The begin of a snapshot, with the time of the last record in it."""

    WIRE: ClassVar[Message] = Message("data", versions="0", flexible="0+")

    version: Annotated[int16, Wire("0+")] = 0
    last_contained_log_timestamp: Annotated[int64, Wire("0+")] = 0


class Endpoint(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    host: Annotated[string, Wire("0+")] = ""
    port: Annotated[uint16, Wire("0+")] = 0


class KRaftVersionFeature(Struct, gc=False):
    min_supported_version: Annotated[int16, Wire("0+")] = 0
    max_supported_version: Annotated[int16, Wire("0+")] = 0


class VotersRecordVoter(Struct, gc=False):
    voter_id: Annotated[int32, Wire("0+")] = 0
    voter_directory_id: Annotated[uuid, Wire("0+")] = NO_UUID
    endpoints: Annotated[list[Endpoint], Wire("0+")] = []
    kraft_version_feature: Annotated[KRaftVersionFeature, Wire("0+")] = field(
        default_factory=KRaftVersionFeature
    )


class VotersRecord(Struct, gc=False):
    """The voters of the quorum from here on."""

    WIRE: ClassVar[Message] = Message("data", versions="0", flexible="0+")

    version: Annotated[int16, Wire("0+")] = 0
    voters: Annotated[list[VotersRecordVoter], Wire("0+")] = []
