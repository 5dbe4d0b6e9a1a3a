"""AlterReplicaLogDirs, API key 34."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, string


class AlterReplicaLogDirTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class AlterReplicaLogDir(Struct, gc=False):
    path: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[AlterReplicaLogDirTopic], Wire("0+")] = []


class AlterReplicaLogDirsRequest(Struct, gc=False):
    """Moves replicas to other directories of the same broker."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-2", flexible="2+", key=34, listeners=("broker",)
    )

    dirs: Annotated[list[AlterReplicaLogDir], Wire("0+")] = []


class AlterReplicaLogDirPartitionResult(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0


class AlterReplicaLogDirTopicResult(Struct, gc=False):
    topic_name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[AlterReplicaLogDirPartitionResult], Wire("0+")] = []


class AlterReplicaLogDirsResponse(Struct, gc=False):
    """Which moves between directories were accepted."""

    WIRE: ClassVar[Message] = Message("response", versions="1-2", flexible="2+", key=34)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    results: Annotated[list[AlterReplicaLogDirTopicResult], Wire("0+")] = []
