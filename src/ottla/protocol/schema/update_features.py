"""UpdateFeatures, API key 57."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int8, int16, int32, string


class FeatureUpdateKey(Struct, gc=False):
    feature: Annotated[string, Wire("0+")] = ""
    max_version_level: Annotated[int16, Wire("0+")] = 0
    allow_downgrade: Annotated[boolean, Wire("0")] = False
    upgrade_type: Annotated[int8, Wire("1+")] = 1


class UpdateFeaturesRequest(Struct, gc=False):
    """Raises or lowers finalized feature levels, or tries whether it could."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="0+", key=57, listeners=("broker", "controller")
    )

    timeout_ms: Annotated[int32, Wire("0+")] = 60000
    feature_updates: Annotated[list[FeatureUpdateKey], Wire("0+")] = []
    validate_only: Annotated[boolean, Wire("1+")] = False


class UpdatableFeatureResult(Struct, gc=False):
    feature: Annotated[string, Wire("0+")] = ""
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""


class UpdateFeaturesResponse(Struct, gc=False):
    """What became of each feature."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="0+", key=57)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    error_message: Annotated[string | None, Wire("0+", nullable="0+")] = ""
    results: Annotated[list[UpdatableFeatureResult], Wire("0-1", ignorable=True)] = []
