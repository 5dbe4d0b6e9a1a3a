"""The table's messages as functions: generated once for each version, on first use.

The source of a generated function stands in `linecache`, so that tracebacks and debuggers show it.
For Produce and Fetch there are compiled functions, where a C compiler was (`c_source`). The pure
ones are their oracle, and get every message that is not as it should be.
"""

import linecache
from collections.abc import Callable
from typing import TypeAlias, TypeVar, cast

import msgspec

from ottla.errors import Malformed
from ottla.protocol import codecs
from ottla.protocol.decoding import decoder_source
from ottla.protocol.encoding import encoder_source
from ottla.protocol.facts import Part, version_range
from ottla.protocol.frame import encode_response
from ottla.protocol.primitives import UnsupportedVersion as UnsupportedVersion
from ottla.protocol.shape import message_facts
from ottla.protocol.source import Source

T = TypeVar("T", bound=msgspec.Struct)

Decoder: TypeAlias = Callable[[memoryview, int], tuple[T, int]]
"""Reads a message at a position; the message and the position after it, or Malformed."""

Encoder: TypeAlias = Callable[[T, list[Part]], None]
"""Adds a message to the parts: joined bytes, and between them each records field as it was."""

FrameEncoder: TypeAlias = Callable[[int, T], list[Part]]
"""From a correlation id and a message, the parts of a whole frame."""


def decoder(message: type[T], version: int) -> Decoder[T]:
    compiled = codecs.find("decode", message, version)
    return pure_decoder(message, version) if compiled is None else cast("Decoder[T]", compiled)


def encoder(message: type[T], version: int) -> Encoder[T]:
    compiled = codecs.find("encode", message, version)
    return pure_encoder(message, version) if compiled is None else cast("Encoder[T]", compiled)


def frame_encoder(message: type[T], version: int, header_version: int) -> FrameEncoder[T]:
    """As `encoder`, but for an answer with its size and its header."""
    compiled = codecs.find(f"frame-{header_version}", message, version)
    if compiled is None:
        return pure_frame_encoder(message, version, header_version)
    return cast("FrameEncoder[T]", compiled)


_decoders: dict[tuple[type[msgspec.Struct], int], object] = {}
_encoders: dict[tuple[type[msgspec.Struct], int], object] = {}


def pure_decoder(message: type[T], version: int) -> Decoder[T]:
    made = _decoders.get((message, version))
    if made is None:
        flexible = _is_flexible(message, version)
        source = decoder_source(message, version, flexible)
        made = _decoders[message, version] = _function("decode", source, message, version)
    return cast("Decoder[T]", made)


def pure_encoder(message: type[T], version: int) -> Encoder[T]:
    made = _encoders.get((message, version))
    if made is None:
        flexible = _is_flexible(message, version)
        source = encoder_source(message, version, flexible)
        made = _encoders[message, version] = _function("encode", source, message, version)
    return cast("Encoder[T]", made)


def pure_frame_encoder(message: type[T], version: int, header_version: int) -> FrameEncoder[T]:
    encode = pure_encoder(message, version)

    def frame(correlation_id: int, message: T) -> list[Part]:
        parts: list[Part] = []
        encode(message, parts)
        return encode_response(correlation_id, header_version, parts)

    return frame


def decode(message: type[T], version: int, data: bytes | bytearray | memoryview) -> T:
    """A message that fills `data` exactly; its records fields are views of `data`."""
    value, end = decoder(message, version)(memoryview(data), 0)
    if end != len(data):
        raise Malformed(f"{message.__name__} v{version} ends {len(data) - end} bytes early")
    return value


def encode(message: msgspec.Struct, version: int) -> bytes:
    """Only for messages whose records, if any, are in memory."""
    parts: list[Part] = []
    encoder(type(message), version)(message, parts)
    return b"".join(cast("list[bytes]", parts))


def _is_flexible(message: type[msgspec.Struct], version: int) -> bool:
    facts = message_facts(message)
    if version not in version_range(facts.versions):
        raise UnsupportedVersion(f"{message.__name__} has no version {version}")
    return version in version_range(facts.flexible)


def _function(name: str, source: Source, message: type[msgspec.Struct], version: int) -> object:
    text = source.text()
    title = f"<{name} {message.__name__} v{version}>"
    linecache.cache[title] = (len(text), None, text.splitlines(keepends=True), title)
    exec(compile(text, title, "exec"), source.names)
    return source.names[name]
