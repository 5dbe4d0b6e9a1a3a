"""ApiVersions, API key 18."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, string


class ApiVersionsRequest(Struct, gc=False):
    WIRE: ClassVar[Message] = Message(
        "request", versions="0-4", flexible="3+", key=18, listeners=("broker", "controller")
    )

    client_software_name: Annotated[string, Wire("3+", ignorable=True)] = ""
    client_software_version: Annotated[string, Wire("3+", ignorable=True)] = ""


class ApiVersion(Struct, gc=False):
    api_key: Annotated[int16, Wire("0+")] = 0
    min_version: Annotated[int16, Wire("0+")] = 0
    max_version: Annotated[int16, Wire("0+")] = 0


class SupportedFeatureKey(Struct, gc=False):
    name: Annotated[string, Wire("3+")] = ""
    min_version: Annotated[int16, Wire("3+")] = 0
    max_version: Annotated[int16, Wire("3+")] = 0


class FinalizedFeatureKey(Struct, gc=False):
    name: Annotated[string, Wire("3+")] = ""
    max_version_level: Annotated[int16, Wire("3+")] = 0
    min_version_level: Annotated[int16, Wire("3+")] = 0


class ApiVersionsResponse(Struct, gc=False):
    WIRE: ClassVar[Message] = Message("response", versions="0-4", flexible="3+", key=18)

    error_code: Annotated[int16, Wire("0+")] = 0
    api_keys: Annotated[list[ApiVersion], Wire("0+")] = []
    throttle_time_ms: Annotated[int32, Wire("1+", ignorable=True)] = 0
    supported_features: Annotated[list[SupportedFeatureKey], Wire("3+", tag=0, ignorable=True)] = []
    finalized_features_epoch: Annotated[int64, Wire("3+", tag=1, ignorable=True)] = -1
    finalized_features: Annotated[list[FinalizedFeatureKey], Wire("3+", tag=2, ignorable=True)] = []
    zk_migration_ready: Annotated[boolean, Wire("3+", tag=3, ignorable=True)] = False
