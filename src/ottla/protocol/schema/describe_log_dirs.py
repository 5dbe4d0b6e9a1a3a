"""DescribeLogDirs, API key 35."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string


class DescribableLogDirTopic(Struct, gc=False):
    topic: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[int32], Wire("0+")] = []


class DescribeLogDirsRequest(Struct, gc=False):
    """Asks a broker about its directories, and some or all replicas in them."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="1-5", flexible="2+", key=35, listeners=("broker",)
    )

    topics: Annotated[list[DescribableLogDirTopic] | None, Wire("0+", nullable="0+")] = []


class DescribeLogDirsPartition(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    partition_size: Annotated[int64, Wire("0+")] = 0
    offset_lag: Annotated[int64, Wire("0+")] = 0
    is_future_key: Annotated[boolean, Wire("0+")] = False


class DescribeLogDirsTopic(Struct, gc=False):
    name: Annotated[string, Wire("0+")] = ""
    partitions: Annotated[list[DescribeLogDirsPartition], Wire("0+")] = []


class DescribeLogDirsResult(Struct, gc=False):
    error_code: Annotated[int16, Wire("0+")] = 0
    log_dir: Annotated[string, Wire("0+")] = ""
    topics: Annotated[list[DescribeLogDirsTopic], Wire("0+")] = []
    total_bytes: Annotated[int64, Wire("4+", ignorable=True)] = -1
    usable_bytes: Annotated[int64, Wire("4+", ignorable=True)] = -1
    is_cordoned: Annotated[boolean, Wire("5+", ignorable=True)] = False


class DescribeLogDirsResponse(Struct, gc=False):
    """Each directory's space, and the size and lag of each replica."""

    WIRE: ClassVar[Message] = Message("response", versions="1-5", flexible="2+", key=35)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("3+", ignorable=True)] = 0
    results: Annotated[list[DescribeLogDirsResult], Wire("0+")] = []
