"""ApiVersions: what this broker serves, before anything else is known of the client."""

import re
from typing import Final

from ottla.api.table import SERVED
from ottla.broker.node import Node
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode
from ottla.limits import SOFTWARE_CHARACTERS_MAX
from ottla.metadata.controller import SUPPORTED_FEATURES
from ottla.protocol.schema.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

# KIP-511: what a client may call itself.
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(node: Node, call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if call.version >= 3:
        for text in (request.client_software_name, request.client_software_version):
            if not _SOFTWARE.fullmatch(text):
                return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        name, version = request.client_software_name, request.client_software_version
        call.connection.software = f"{name} {version}"[:SOFTWARE_CHARACTERS_MAX]
    return ApiVersionsResponse(
        api_keys=_api_keys(),
        supported_features=[
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
            # KIP-1022: before version 4 a minimum of 0 cannot be said.
            if low > 0 or call.version >= 4
        ],
        finalized_features_epoch=node.image.features_epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in node.image.features.items()
            if name in SUPPORTED_FEATURES
        ],
    )


def handle_unsupported(node: Node, call: Call, request: None) -> ApiVersionsResponse:
    own = SERVED[18]
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(api_key=18, min_version=own.min_version, max_version=own.max_version)],
    )


def _api_keys() -> list[ApiVersion]:
    return [
        ApiVersion(
            api_key=key, min_version=served.advertised_min_version, max_version=served.max_version
        )
        for key, served in SERVED.items()
    ]
