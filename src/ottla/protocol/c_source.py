"""The whole text of the compiled codecs, for `setup.py`; no broker imports this.

What is compiled is what every produce and fetch passes: requests are read, responses written.
"""

import hashlib
from collections.abc import Iterable, Iterator

import msgspec

from ottla.protocol.apis import API, request_type, response_type
from ottla.protocol.c_decoding import decoder_lines
from ottla.protocol.c_encoding import encoder_lines
from ottla.protocol.c_lines import shape_name
from ottla.protocol.facts import version_range
from ottla.protocol.shape import WireType, field_facts, message_facts

COMPILED = (0, 1)
"""The API keys of Produce and Fetch."""

_READER = "(object view, const uint8_t *start, const uint8_t **at, const uint8_t *end)"
_WRITER = "(object message, Out *out, list parts) except -1"


def module_text(prelude: str) -> str:
    """`prelude` is the text of `codecs.pxi`."""
    parts = [prelude]
    for key in COMPILED:
        messages = request_type(key), response_type(key)
        parts.append(_shapes(messages))
        for message, write in zip(messages, (_decoders, _encoders), strict=True):
            parts += write(message)
    parts.append(_tables())
    text = "\n\n".join(parts)
    return f"{text}\n\nDIGEST = {hashlib.sha256(text.encode()).hexdigest()!r}\n"


def _shapes(messages: Iterable[type[msgspec.Struct]]) -> str:
    structs: dict[type[msgspec.Struct], None] = {}
    for message in messages:
        structs.update(dict.fromkeys(_structs(message)))
    names = {struct: shape_name(struct) for struct in structs}
    lines = [f"cdef Shape {name}" for name in names.values()]
    module = next(iter(structs)).__module__.rpartition(".")[2]
    lines += ["", "", f"def bind_{module}(module):", "    return ("]
    for at, (struct, name) in enumerate(names.items()):
        fields = tuple(field.name for field in field_facts(struct))
        word = "and " if at else ""
        lines.append(f"        {word}bind(&{name}, module.{struct.__name__}, {fields})")
    return "\n".join([*lines, "    )"])


def _structs(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    yield struct
    for field in field_facts(struct):
        inner = _struct_of(field.type)
        if inner is not None:
            yield from _structs(inner)


def _struct_of(wire: WireType) -> type[msgspec.Struct] | None:
    return _struct_of(wire.element) if wire.element is not None else wire.struct


def _versions(message: type[msgspec.Struct]) -> Iterator[tuple[int, bool]]:
    facts = message_facts(message)
    for version in version_range(facts.versions):
        yield version, version in version_range(facts.flexible)


def _decoders(message: type[msgspec.Struct]) -> Iterator[str]:
    shape, same = shape_name(message), dict[str, str]()
    for version, flexible in _versions(message):
        body = decoder_lines(message, version, flexible)
        if body not in same:
            same[body] = f"read_{shape}_{version}"
            yield f"cdef object {same[body]}{_READER}:\n{body}"
        yield (
            f"def decode_{shape}_{version}(view, Py_ssize_t at, /):\n"
            f"    return decoded(view, at, {same[body]}, &{shape}, {version})"
        )


def _encoders(message: type[msgspec.Struct]) -> Iterator[str]:
    shape, same = shape_name(message), dict[str, str]()
    for version, flexible in _versions(message):
        body = encoder_lines(message, version, flexible)
        if body not in same:
            same[body] = f"write_{shape}_{version}"
            yield f"cdef int {same[body]}{_WRITER}:\n{body}"
        ending = f"{same[body]}, &{shape}, {version}"
        yield (
            f"def encode_{shape}_{version}(message, list parts, /):\n"
            f"    encoded(message, parts, {ending})"
        )
        yield (
            f"def frame_{shape}_{version}(correlation_id, message, /):\n"
            f"    return framed(correlation_id, message, {ending}, {int(flexible)})"
        )


def _tables() -> str:
    binders, functions = [], []
    for key in COMPILED:
        request, response = request_type(key), response_type(key)
        binders.append(f"    '{request.__module__}': bind_{API[key].module},")
        for version, _ in _versions(request):
            functions.append(_entry("decode", "decode", request, version))
        for version, flexible in _versions(response):
            functions.append(_entry("encode", "encode", response, version))
            functions.append(_entry(f"frame-{int(flexible)}", "frame", response, version))
    return "\n".join(["BINDERS = {", *binders, "}", "FUNCTIONS = {", *functions, "}"])


def _entry(kind: str, function: str, message: type[msgspec.Struct], version: int) -> str:
    name = f"{function}_{shape_name(message)}_{version}"
    return f"    ('{kind}', '{message.__name__}', {version}): {name},"
