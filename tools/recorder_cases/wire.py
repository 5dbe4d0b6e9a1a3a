"""Messages by their names and as plain dictionaries, over `ottla.protocol`."""

import importlib
import uuid
from functools import cache
from typing import Any

from msgspec import Struct

from ottla.protocol.compile import decode, decoder, encode
from ottla.protocol.facts import version_range
from ottla.protocol.schema.headers import RequestHeader, ResponseHeader
from ottla.protocol.shape import FieldShape, WireType, field_facts, fields_at, message_facts

API_VERSIONS = "api_versions"


@cache
def message(api: str, kind: str) -> type[Struct]:
    """`("list_offsets", "Request")` is the class of the table's ListOffsetsRequest."""
    module = importlib.import_module(f"ottla.protocol.schema.{api}")
    name = "".join(part.capitalize() for part in api.split("_"))
    found: type[Struct] = getattr(module, name + kind)
    return found


def is_flexible(api: str, version: int) -> bool:
    return version in version_range(message_facts(message(api, "Request")).flexible)


def header(api: str, version: int, correlation: int, client_id: str | None) -> bytes:
    key = message_facts(message(api, "Request")).key
    assert key is not None
    made = RequestHeader(key, version, correlation, client_id)
    return encode(made, 2 if is_flexible(api, version) else 1)


def request(api: str, version: int, body: dict[str, Any]) -> bytes:
    return encode(_struct(message(api, "Request"), body), version)


def answer(api: str, version: int, frame: bytes, *, brief: bool = False) -> dict[str, Any]:
    """Every field that this version has; `brief` leaves out those that say nothing."""
    # Who asks for ApiVersions does not know yet what the broker reads, so its header stays old.
    flexible = is_flexible(api, version) and api != API_VERSIONS
    _, end = decoder(ResponseHeader, int(flexible))(memoryview(frame), 0)
    response = message(api, "Response")
    value = decode(response, version, memoryview(frame)[end:])
    is_now_flexible = version in version_range(message_facts(response).flexible)
    return _plain(value, version, is_now_flexible, brief)


def _struct(cls: type[Struct], body: dict[str, Any]) -> Struct:
    types = {facts.name: facts.type for facts in field_facts(cls)}
    return cls(**{name: _wired(types[name], value) for name, value in body.items()})


def _wired(wire: WireType, value: Any) -> Any:
    match value:
        case uuid.UUID():
            return value.bytes
        case dict():
            assert wire.struct is not None
            return _struct(wire.struct, value)
        case list():
            assert wire.element is not None
            return [_wired(wire.element, item) for item in value]
        case _:
            return value


def _plain(value: Struct, version: int, flexible: bool, brief: bool) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for shape in fields_at(type(value), version, flexible):
        item = getattr(value, shape.name)
        if shape.present and not (brief and _is_unsaid(shape, item)):
            told[shape.name] = _unwired(shape, shape.type, item, version, brief)
    return told


def _is_unsaid(shape: FieldShape, value: Any) -> bool:
    """A plain 0 is kept, because as an error code or an offset it is an answer."""
    default = shape.default() if callable(shape.default) else shape.default
    is_zero = isinstance(value, int) and not isinstance(value, bool) and value == 0
    return bool(value == default) and (not is_zero or shape.name == "throttle_time_ms")


def _unwired(shape: FieldShape, wire: WireType, value: Any, version: int, brief: bool) -> Any:
    if isinstance(value, Struct):
        return _plain(value, version, shape.flexible, brief)
    if isinstance(value, list):
        assert wire.element is not None
        return [_unwired(shape, wire.element, item, version, brief) for item in value]
    if wire.name == "uuid":
        return uuid.UUID(bytes=bytes(value))
    return bytes(value) if isinstance(value, memoryview) else value
