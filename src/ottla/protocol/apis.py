"""Kafka's APIs by key. Their messages are imported when first asked for."""

from functools import cache
from importlib import import_module
from typing import NamedTuple

import msgspec

from ottla.protocol.facts import VERSION_MAX, version_range
from ottla.protocol.schema.index import APIS

API_VERSIONS = 18


class ApiInfo(NamedTuple):
    key: int
    name: str
    module: str
    min_version: int
    max_version: int
    first_flexible: int
    """Above every version where none is flexible."""
    listeners: tuple[str, ...]
    latest_unstable: bool

    @property
    def max_stable_version(self) -> int:
        """What Kafka offers and asks for unless told to use versions still in the making."""
        return self.max_version - self.latest_unstable


def _info(
    key: int,
    name: str,
    module: str,
    versions: str,
    flexible: str,
    listeners: tuple[str, ...],
    latest_unstable: bool,
) -> ApiInfo:
    known, compact = version_range(versions), version_range(flexible)
    first_flexible = compact.start if compact else VERSION_MAX + 1
    return ApiInfo(
        key, name, module, known[0], known[-1], first_flexible, listeners, latest_unstable
    )


API: dict[int, ApiInfo] = {row[0]: _info(*row) for row in APIS}


@cache
def request_type(key: int) -> type[msgspec.Struct]:
    return _message_type(API[key], "Request")


@cache
def response_type(key: int) -> type[msgspec.Struct]:
    return _message_type(API[key], "Response")


def request_header_version(key: int, version: int) -> int:
    return 2 if version >= API[key].first_flexible else 1


def response_header_version(key: int, version: int) -> int:
    """A client that does not know us yet reads the answer to ApiVersions, so it never changes."""
    return 1 if version >= API[key].first_flexible and key != API_VERSIONS else 0


def _message_type(api: ApiInfo, suffix: str) -> type[msgspec.Struct]:
    module = import_module(f"ottla.protocol.schema.{api.module}")
    message: type[msgspec.Struct] = getattr(module, api.name + suffix)
    return message
