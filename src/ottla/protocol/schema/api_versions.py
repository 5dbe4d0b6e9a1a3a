"""ApiVersions, API key 18."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string


class ApiVersionsRequest(Struct, gc=False):
    """What every client asks first: which versions of which APIs are served."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-4", flexible="3+", key=18, listeners=("broker", "controller")
    )

    client_software_name: Annotated[
        string,
        Wire(
            "3+",
            ignorable=True,
            about="Which client this is, such as librdkafka; metrics count by it.",
        ),
    ] = ""
    client_software_version: Annotated[
        string, Wire("3+", ignorable=True, about="And which version of it.")
    ] = ""


class ApiVersion(Struct, gc=False):
    api_key: Annotated[int16, Wire("0+", about="The API.")] = 0
    min_version: Annotated[int16, Wire("0+", about="The lowest version served.")] = 0
    max_version: Annotated[int16, Wire("0+", about="The highest version served.")] = 0


class SupportedFeatureKey(Struct, gc=False):
    name: Annotated[string, Wire("3+", about="The feature.")] = ""
    min_version: Annotated[
        int16, Wire("3+", about="The lowest level at which this node can run.")
    ] = 0
    max_version: Annotated[
        int16, Wire("3+", about="The highest level at which this node can run.")
    ] = 0


class FinalizedFeatureKey(Struct, gc=False):
    name: Annotated[string, Wire("3+", about="The feature.")] = ""
    max_version_level: Annotated[
        int16, Wire("3+", about="The level at which the cluster runs.")
    ] = 0
    min_version_level: Annotated[
        int16, Wire("3+", about="The lowest level allowed; the same as the highest since KRaft.")
    ] = 0


class ApiVersionsResponse(Struct, gc=False):
    """The versions served, and the cluster's features; its header never changes."""

    WIRE: ClassVar[Message] = Message("response", versions="0-4", flexible="3+", key=18)

    error_code: Annotated[
        int16, Wire("0+", about="UNSUPPORTED_VERSION when the form asked for is unknown.")
    ] = 0
    api_keys: Annotated[list[ApiVersion], Wire("0+", about="The APIs served here.")] = []
    throttle_time_ms: Annotated[
        int32, Wire("1+", ignorable=True, about="For how long the client was held back by a quota.")
    ] = 0
    supported_features: Annotated[
        list[SupportedFeatureKey],
        Wire(
            "3+",
            tag=0,
            ignorable=True,
            about="Features that this node knows, whether or not they are in use.",
        ),
    ] = []
    finalized_features_epoch: Annotated[
        int64,
        Wire(
            "3+",
            tag=1,
            ignorable=True,
            about="The metadata offset at which the levels hold; -1 when unknown.",
        ),
    ] = -1
    finalized_features: Annotated[
        list[FinalizedFeatureKey],
        Wire("3+", tag=2, ignorable=True, about="Features in use in the whole cluster."),
    ] = []
    zk_migration_ready: Annotated[
        boolean,
        Wire(
            "3+",
            tag=3,
            ignorable=True,
            about="Only controllers moving away from ZooKeeper set this.",
        ),
    ] = False
