"""What each of Kafka's keys does here (DESIGN D11), and the keys that are only ours.

Facts of Kafka stand in `config_table.py`; this file holds our own decisions. A test holds that
every key has exactly one class. A new key of ours is one more row of `OTTLA_KEYS`.
"""

from typing import NamedTuple

from ottla.config_keys import ConfigKey, ConfigType, Effect, OneOf

OTTLA_KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "ottla.durability",
        ConfigType.STRING,
        "durable",
        OneOf(("durable", "page-cache")),
        importance="high",
        effect=Effect.EFFECTIVE,
        about="What acknowledges a record with acks=all: `durable` waits until it is on disk, "
        "`page-cache` answers before that, as Kafka does.",
    ),
)

# Broker keys that work, in our words.
BROKER_EFFECTIVE: dict[str, str] = {
    "node.id": "This node's number in the cluster.",
    "broker.id": "An older name of node.id; where both are set they must agree.",
    "process.roles": "Whether this node is a broker, a controller or both.",
    "listeners": "Addresses to listen on, as NAME://host:port.",
    "advertised.listeners": "Addresses that clients are told, where they differ from listeners.",
    "controller.listener.names": "Which listeners belong to the controller.",
    "listener.security.protocol.map": "The security protocol of each listener name; "
    "only PLAINTEXT is built.",
    "controller.quorum.bootstrap.servers": "Where to find the metadata quorum.",
    "log.dir": "The data directory, where log.dirs is not set.",
    "log.dirs": "The data directories.",
    "auto.create.topics.enable": "Create a topic when a client asks for one that is not there.",
    "delete.topic.enable": "Allow topics to be deleted.",
    "num.partitions": "Partitions of a topic whose creator does not say.",
    "default.replication.factor": "Replicas of a topic whose creator does not say.",
    "min.insync.replicas": "In-sync replicas that a produce with acks=all needs.",
    "message.max.bytes": "Largest record batch, after compression.",
    "log.segment.bytes": "Size at which a segment is closed and the next one begins.",
    "log.roll.ms": "Age at which a segment is closed; before log.roll.hours.",
    "log.roll.hours": "Age at which a segment is closed, where log.roll.ms is not set.",
    "log.roll.jitter.ms": "Up to how much earlier a segment closes, so that not all do at once.",
    "log.roll.jitter.hours": "As log.roll.jitter.ms, where that is not set.",
    "log.index.size.max.bytes": "Largest offset index or time index of a segment.",
    "log.index.interval.bytes": "Bytes of log between two entries of an index.",
    "log.message.timestamp.type": "Whether a record keeps its producer's time or gets the time "
    "of its append.",
    "log.message.timestamp.before.max.ms": "How far in the past a producer's timestamp may lie.",
    "log.message.timestamp.after.max.ms": "How far in the future a producer's timestamp may lie.",
    "log.flush.interval.messages": "Records after which a log is flushed. In durable mode each "
    "acknowledged record is on disk anyway.",
    "log.flush.interval.ms": "Time after which a log is flushed.",
    "log.flush.scheduler.interval.ms": "As log.flush.interval.ms, where that is not set.",
    "log.segment.delete.delay.ms": "How long the files of a deleted segment stay.",
    "metadata.log.max.record.bytes.between.snapshots": "Bytes of metadata after which a snapshot "
    "of it is written, so that a start need not read them.",
    "metadata.log.max.snapshot.interval.ms": "Time after which a change of the metadata brings a "
    "snapshot, however small; 0: never.",
    "socket.request.max.bytes": "Largest request; a longer one closes its connection.",
    "queued.max.request.bytes": "Memory for requests that have not arrived whole; -1: our limit.",
    "max.connections": "Connections at one time.",
    "max.connections.per.ip": "Connections at one time from one address.",
    "connections.max.idle.ms": "A connection silent for so long is closed.",
    "max.incremental.fetch.session.cache.slots": "Fetch sessions at one time (KIP-227).",
    "fetch.max.bytes": "Most bytes of one fetch response; the first batch is always served.",
    "max.request.partition.size.limit": "Most partitions in one answer of the APIs that page.",
    "producer.id.expiration.ms": "How long an idle producer's sequence numbers are remembered.",
    "producer.id.expiration.check.interval.ms": "How often idle producers are looked for.",
    "broker.rack": "The rack of this broker, which clients and placement are told.",
}

# Topic keys that work, in our words.
TOPIC_EFFECTIVE: dict[str, str] = {
    "segment.bytes": "Size at which a segment is closed and the next one begins.",
    "internal.segment.bytes": "As segment.bytes and before it, without its lower bound: for tests.",
    "segment.ms": "Age at which a segment is closed.",
    "segment.jitter.ms": "Up to how much earlier a segment closes, so that not all do at once.",
    "segment.index.bytes": "Largest offset index or time index of a segment.",
    "index.interval.bytes": "Bytes of log between two entries of an index.",
    "max.message.bytes": "Largest record batch, after compression.",
    "message.timestamp.type": "Whether a record keeps its producer's time or gets the time of "
    "its append.",
    "message.timestamp.before.max.ms": "How far in the past a producer's timestamp may lie.",
    "message.timestamp.after.max.ms": "How far in the future a producer's timestamp may lie.",
    "min.insync.replicas": "In-sync replicas that a produce with acks=all needs.",
    "flush.messages": "Records after which the log is flushed. In durable mode each acknowledged "
    "record is on disk anyway.",
    "flush.ms": "Time after which the log is flushed.",
    "file.delete.delay.ms": "How long the files of a deleted segment stay.",
}


class Group(NamedTuple):
    """Keys with one class for one reason. A name that ends with a dot stands for a family."""

    effect: Effect
    why: str
    names: tuple[str, ...]


TOPIC_GROUPS: tuple[Group, ...] = (
    Group(
        Effect.NO_EFFECT_HERE,
        "Segments are not preallocated.",
        ("preallocate",),
    ),
    Group(
        Effect.REFUSED_YET,
        "Tiered storage is not built: records would not reach the remote store.",
        ("remote.storage.enable",),
    ),
    Group(
        Effect.NOT_YET,
        "Tiered storage is not built, so there is nothing to keep or delete remotely.",
        (
            "local.retention.bytes",
            "local.retention.ms",
            "remote.log.copy.disable",
            "remote.log.delete.on.disable",
        ),
    ),
    Group(
        Effect.NOT_YET,
        "Retention is not built: everything is kept.",
        ("retention.bytes", "retention.ms"),
    ),
    Group(
        Effect.NOT_YET,
        "Retention and compaction are not built: everything is kept.",
        (
            "cleanup.policy",
            "delete.retention.ms",
            "max.compaction.lag.ms",
            "min.cleanable.dirty.ratio",
            "min.compaction.lag.ms",
        ),
    ),
    Group(
        Effect.NOT_YET,
        "Batches keep the compression of their producer.",
        (
            "compression.gzip.level",
            "compression.lz4.level",
            "compression.type",
            "compression.zstd.level",
        ),
    ),
    Group(
        Effect.NOT_YET,
        "Replication is not built; no election is unclean yet and nothing is throttled.",
        (
            "follower.replication.throttled.replicas",
            "leader.replication.throttled.replicas",
            "unclean.leader.election.enable",
        ),
    ),
)

BROKER_GROUPS: tuple[Group, ...] = (
    Group(
        Effect.NO_EFFECT_HERE,
        "A broker is one process on one core; it has no such pool of threads.",
        (
            "background.threads",
            "group.coordinator.background.threads",
            "group.coordinator.threads",
            "log.cleaner.threads",
            "num.io.threads",
            "num.network.threads",
            "num.recovery.threads.per.data.dir",
            "num.replica.alter.log.dirs.threads",
            "num.replica.fetchers",
            "remote.log.manager.copier.thread.pool.size",
            "remote.log.manager.expiration.thread.pool.size",
            "remote.log.manager.follower.thread.pool.size",
            "remote.log.manager.thread.pool.size",
            "remote.log.reader.threads",
            "share.coordinator.threads",
        ),
    ),
    Group(
        Effect.NO_EFFECT_HERE,
        "Parked replies are woken by what they wait for, so there is nothing to purge.",
        (
            "delete.records.purgatory.purge.interval.requests",
            "fetch.purgatory.purge.interval.requests",
            "producer.purgatory.purge.interval.requests",
            "share.fetch.purgatory.purge.interval.requests",
        ),
    ),
    Group(
        Effect.NO_EFFECT_HERE,
        "The kernel sizes the buffers of sockets, and each connection's queue has its own bound.",
        (
            "queued.max.requests",
            "replica.socket.receive.buffer.bytes",
            "socket.receive.buffer.bytes",
            "socket.send.buffer.bytes",
        ),
    ),
    Group(
        Effect.NO_EFFECT_HERE,
        "It names or tunes what lives in a Java process only.",
        (
            "controller.performance.",
            "kafka.metrics.",
            "metric.reporters",
            "metrics.",
            "sasl.client.callback.handler.class",
            "sasl.kerberos.",
            "sasl.login.",
            "sasl.server.callback.handler.class",
            "security.providers",
            "ssl.engine.factory.class",
            "ssl.keymanager.algorithm",
            "ssl.provider",
            "ssl.secure.random.implementation",
            "ssl.trustmanager.algorithm",
        ),
    ),
    Group(
        Effect.NO_EFFECT_HERE,
        "Segments are not preallocated.",
        ("log.preallocate",),
    ),
    Group(
        Effect.REFUSED_YET,
        "Access control is not built: everybody would be let in.",
        ("authorizer.class.name", "principal.builder.class", "security.inter.broker.protocol"),
    ),
    Group(
        Effect.REFUSED_YET,
        "Policies and quotas are not built: what they forbid would be allowed.",
        (
            "alter.config.policy.class.name",
            "client.quota.callback.class",
            "create.topic.policy.class.name",
            "max.connection.creation.rate",
            "max.connections.per.ip.overrides",
        ),
    ),
    Group(
        Effect.REFUSED_YET,
        "Values are never taken from other files or the environment: they would stand unresolved.",
        ("config.providers",),
    ),
    Group(
        Effect.REFUSED_YET,
        "The metadata quorum has dynamic voters: set controller.quorum.bootstrap.servers.",
        ("controller.quorum.voters",),
    ),
    Group(
        Effect.REFUSED_YET,
        "Data would lie in another directory than asked for.",
        ("cordoned.log.dirs", "metadata.log.dir"),
    ),
    Group(
        Effect.REFUSED_YET,
        "Tiered storage is not built: records would not reach the remote store.",
        ("remote.log.storage.system.enable",),
    ),
    Group(
        Effect.NOT_YET,
        "TLS and SASL are not built: a listener that asks for them is refused.",
        (
            "connection.failed.authentication.delay.ms",
            "connections.max.reauth.ms",
            "delegation.token.",
            "sasl.",
            "ssl.",
        ),
    ),
    Group(
        Effect.NOT_YET,
        "Tiered storage is not built.",
        (
            "follower.fetch.last.tiered.offset.enable",
            "log.local.retention.bytes",
            "log.local.retention.ms",
            "remote.",
        ),
    ),
    Group(
        Effect.NOT_YET,
        "Retention and compaction are not built: everything is kept.",
        (
            "log.cleaner.",
            "log.cleanup.policy",
            "log.retention.",
            "metadata.max.retention.",
        ),
    ),
    Group(
        Effect.NOT_YET,
        "Batches keep the compression of their producer.",
        ("compression.",),
    ),
    Group(
        Effect.NOT_YET,
        "Group coordination is not built.",
        ("group.", "offset.metadata.max.bytes", "offsets.", "share.coordinator."),
    ),
    Group(
        Effect.NOT_YET,
        "Transactions are not built.",
        ("add.partitions.to.txn.", "transaction.", "transactional.id.expiration.ms"),
    ),
    Group(
        Effect.NOT_YET,
        "Quotas are not built.",
        (
            "alter.log.dirs.replication.quota.",
            "controller.quota.",
            "quota.",
            "replication.quota.",
        ),
    ),
    Group(
        Effect.NOT_YET,
        "A cluster of several nodes is not built.",
        (
            "auto.leader.rebalance.enable",
            "broker.heartbeat.interval.ms",
            "broker.session.timeout.ms",
            "controlled.shutdown.enable",
            "controller.quorum.",
            "controller.socket.timeout.ms",
            "early.start.listeners",
            "initial.broker.registration.timeout.ms",
            "inter.broker.listener.name",
            "leader.imbalance.check.interval.seconds",
            "replica.",
            "request.timeout.ms",
            "socket.connection.setup.",
            "unclean.leader.election.",
        ),
    ),
    Group(
        Effect.NOT_YET,
        "The upkeep of the metadata log is not built, but for its snapshots: all of it is kept.",
        ("internal.metadata.", "metadata."),
    ),
    Group(
        Effect.NOT_YET,
        "Ottla has its own pace for this, which no key changes yet.",
        (
            "log.dir.failure.timeout.ms",
            "log.flush.offset.checkpoint.interval.ms",
            "log.flush.start.offset.checkpoint.interval.ms",
            "log.initial.task.delay.ms",
            "server.max.startup.time.ms",
            "socket.listen.backlog.size",
        ),
    ),
    Group(
        Effect.NOT_YET,
        "Only finished versions of APIs and features are built, and no client telemetry.",
        ("telemetry.max.bytes", "unstable.api.versions.enable", "unstable.feature.versions.enable"),
    ),
)


def classed(
    keys: tuple[ConfigKey, ...], effective: dict[str, str], groups: tuple[Group, ...]
) -> dict[str, ConfigKey]:
    """Kafka's keys with their effect here; the longest name or family that fits decides."""
    grouped = {name: group for group in groups for name in group.names}
    found: dict[str, ConfigKey] = {}
    for key in keys:
        if key.name in effective:
            about = effective[key.name]
            found[key.name] = key._replace(effect=Effect.EFFECTIVE, about=about)
            continue
        fits = key.name
        while fits not in grouped:
            assert fits != ".", f"{key.name} has no class"
            fits = fits[:-1].rpartition(".")[0] + "."
        found[key.name] = key._replace(effect=grouped[fits].effect, about=grouped[fits].why)
    return found
