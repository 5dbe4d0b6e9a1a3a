"""The one table of implemented APIs. What is not here is not advertised (DESIGN D7a)."""

from functools import cache
from importlib import import_module
from typing import Final, NamedTuple

from ottla.broker.pipeline import Route
from ottla.errors import Malformed
from ottla.protocol.apis import request_type, response_header_version, response_type
from ottla.protocol.compile import decoder, frame_encoder

API_VERSIONS: Final = 18


class Served(NamedTuple):
    module: str
    min_version: int
    max_version: int
    # Advertised lower than served where a stock client needs it (KAFKA-18659).
    advertised_min_version: int


def _served(module: str, low: int, high: int, advertised_low: int | None = None) -> Served:
    return Served(module, low, high, low if advertised_low is None else advertised_low)


SERVED: Final[dict[int, Served]] = {
    0: _served("ottla.api.produce", 3, 13, 0),
    1: _served("ottla.api.fetch", 4, 18),
    2: _served("ottla.api.list_offsets", 1, 11),
    3: _served("ottla.api.metadata", 0, 13),
    10: _served("ottla.api.find_coordinator", 0, 6),
    18: _served("ottla.api.api_versions", 0, 4),
    19: _served("ottla.api.create_topics", 2, 7),
    20: _served("ottla.api.delete_topics", 1, 6),
    22: _served("ottla.api.init_producer_id", 0, 5),
    32: _served("ottla.api.describe_configs", 1, 4),
    60: _served("ottla.api.describe_cluster", 0, 2),
}


# Only what is served: versions that clients make up must not fill memory.
_routes: dict[tuple[int, int], Route] = {}


def route_of(api_key: int, version: int) -> Route:
    try:
        return _routes[api_key, version]
    except KeyError:
        return _find_route(api_key, version)


def _find_route(api_key: int, version: int) -> Route:
    """Modules are imported, and functions generated, on an API's first use."""
    served = SERVED.get(api_key)
    if served is None or not served.min_version <= version <= served.max_version:
        if api_key == API_VERSIONS:
            return _unknown_api_versions()
        raise Malformed(f"API {api_key} version {version} is not served here")
    route = _routes[api_key, version] = Route(
        api_key,
        version,
        decoder(request_type(api_key), version),
        frame_encoder(response_type(api_key), version, response_header_version(api_key, version)),
        import_module(served.module).handle,
    )
    return route


@cache
def _unknown_api_versions() -> Route:
    """A client from the future learns in version 0 form what we speak (KIP-511)."""
    from ottla.api.api_versions import handle_unsupported

    def ignore_body(view: memoryview, at: int) -> tuple[None, int]:
        return None, len(view)

    frame = frame_encoder(response_type(API_VERSIONS), 0, 0)
    return Route(API_VERSIONS, 0, ignore_body, frame, handle_unsupported)
