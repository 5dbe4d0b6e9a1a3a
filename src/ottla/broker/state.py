"""What a node is made of when it starts: read from its directory, or made for a new one."""

from dataclasses import dataclass

from ottla.config import BrokerConfig
from ottla.metadata.controller import Entropy, Registration
from ottla.metadata.image import Endpoint, Image
from ottla.names import NodeId, Uuid
from ottla.protocol.schema.records_raft import VotersRecord
from ottla.raft.directory import voters_of_one
from ottla.raft.replica import MetadataReplica
from ottla.replication.hosting import Hosting
from ottla.storage.disk import Disk, DiskFile
from ottla.storage.durable import DurableMarks


@dataclass(slots=True, frozen=True)
class Identity:
    """Who this node is, and under which addresses clients find it."""

    node_id: NodeId
    cluster_id: str
    directory_id: Uuid
    endpoints: tuple[Endpoint, ...]
    controller_endpoints: tuple[Endpoint, ...]
    rack: str | None


@dataclass(slots=True)
class NodeState:
    identity: Identity
    config: BrokerConfig
    disk: Disk
    entropy: Entropy
    marks: DurableMarks
    image: Image
    hosting: Hosting
    metadata: MetadataReplica
    # The journal's file, where a former run left one.
    journal_file: DiskFile | None

    def voters(self) -> VotersRecord:
        identity = self.identity
        return voters_of_one(
            identity.node_id, identity.directory_id, identity.controller_endpoints[0]
        )

    def registration(self) -> Registration:
        """A new incarnation introduces itself at every start."""
        identity = self.identity
        return Registration(
            identity.node_id,
            self.entropy.uuid(),
            identity.endpoints,
            identity.controller_endpoints,
            identity.rack,
            identity.directory_id,
        )
