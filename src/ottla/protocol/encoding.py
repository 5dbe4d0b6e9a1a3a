"""Writes the encoder of one message in one version, as straight-line Python.

Neighbouring fixed-size values, with the varint of a length after them, are packed together. Small
things are joined; a records field stays apart, as the very object that it was.
"""

import struct
from dataclasses import replace

import msgspec

from ottla.protocol.primitives import uvarint
from ottla.protocol.shape import FIXED_FORMATS, FieldShape, WireType, fields_at
from ottla.protocol.source import FEW, Source

PREFIX_FORMATS = {"string": "h", "bytes": "i", "records": "i", "array": "i"}


def encoder_source(message: type[msgspec.Struct], version: int, flexible: bool) -> Source:
    return _EncoderWriter(version, flexible).write(message)


class _EncoderWriter:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.source = Source({"pack": struct.pack})
        self._run: list[tuple[str, str]] = []
        self._out = "out"

    def write(self, message: type[msgspec.Struct]) -> Source:
        source = self.source
        source.lines += ["def encode(message, parts):", ""]
        self._struct(message, "message")
        if len(source.lines) == 2 and self._run:
            source.line(f"parts.append({self._packed()})")
            return source
        self._pack()
        source.lines[1] = "    out = []"
        with source.block("if out:"):
            source.line("parts.append(b''.join(out))")
        return source

    def _packed(self) -> str:
        """An expression for the bytes of all values that wait."""
        run, self._run = self._run, []
        formats = "".join(each for each, _ in run)
        values = ", ".join(value for _, value in run if value)
        if not values:
            return repr(bytes(len(formats)))
        if formats == "B":
            return f"VARINT[{values}]"
        return f"{self.source.packing(formats, 'pack')}({values})"

    def _pack(self) -> None:
        if self._run:
            self._append(self._packed())

    def _append(self, expression: str) -> None:
        self.source.line(f"{self._out}.append({expression})")

    def _pack_length(self, length: str, otherwise: str) -> None:
        """Close the run with a varint, which in nearly every case is one byte."""
        before = self._run
        self._run = [*before, ("B", length)]
        with self.source.block(f"if {length} < 128:"):
            self._pack()
        self._run = before
        with self.source.block("else:"):
            self._pack()
            self._append(f"{otherwise}({length})")

    def _struct(self, cls: type[msgspec.Struct], value: str) -> None:
        tagged = []
        for field in fields_at(cls, self.version, self.flexible):
            reached = f"{value}.{field.name}"
            if field.present and field.tag is None:
                self._value(field.type, field.name, reached, field)
            elif field.present:
                tagged.append((field, reached))
            elif not field.ignorable:
                condition = self._differs(field, reached)
                with self.source.block(f"if {condition}:"):
                    self.source.line(f"lacks('{cls.__name__}.{field.name}', {self.version})")
        if self.flexible:
            self._tags(sorted(tagged, key=lambda each: each[0].tag or 0))

    def _differs(self, field: FieldShape, value: str) -> str:
        """Whether a value is other than its default, as an expression that gives a bool."""
        if field.default is None:
            return f"{value} is not None"
        if field.default is list or field.type.name == "bytes":
            filled = f"len({value}) > 0"
            return f"({value} is None or {filled})" if field.optional else filled
        if isinstance(field.default, type):
            shared = self.source.shared(field.default, field.default.__name__)
            name = f"DEFAULT_{shared}"
            self.source.names.setdefault(name, field.default())
            return f"{value} != {name}"
        return f"{value} != {field.default!r}"

    def _tags(self, tagged: list[tuple[FieldShape, str]]) -> None:
        if not tagged:
            self._run.append(("x", ""))
            return
        source = self.source
        flags = []
        for field, value in tagged:
            flags.append(source.name(f"has_{field.name}"))
            source.line(f"{flags[-1]} = {self._differs(field, value)}")
        count = source.name("tags")
        source.line(f"{count} = {' + '.join(flags)}")
        self._run.append(("B", count))
        self._pack()
        with source.block(f"if {count}:"):
            for flag, (field, value) in zip(flags, tagged, strict=True):
                with source.block(f"if {flag}:"):
                    self._tagged(field, value)

    def _tagged(self, field: FieldShape, value: str) -> None:
        source = self.source
        around, self._out = self._out, source.name("sized")
        source.line(f"{self._out} = []")
        self._value(field.type, field.name, value, field)
        self._pack()
        body = source.name("body")
        source.line(f"{body} = b''.join({self._out})")
        self._out = around
        assert field.tag is not None
        source.line(f"{around} += {uvarint(field.tag)!r}, uvarint(len({body})), {body}")

    def _value(self, wire: WireType, name: str, value: str, field: FieldShape) -> None:
        if wire.name in FIXED_FORMATS:
            self._run.append((FIXED_FORMATS[wire.name], value))
        elif wire.struct is not None:
            if field.optional:
                self._nullable_struct(wire.struct, value, field)
            else:
                self._struct(wire.struct, value)
        else:
            self._sized(wire, name, value, field)

    def _nullable_struct(self, cls: type[msgspec.Struct], value: str, field: FieldShape) -> None:
        source = self.source
        self._pack()
        held = source.name(field.name)
        source.line(f"{held} = {value}")
        with source.block(f"if {held} is None:"):
            if not field.nullable:
                source.line(f"lacks('{field.name} = None', {self.version})")
            else:
                self._append("b'\\xff'" if field.tag is None else "b'\\0'")
        with source.block("else:"):
            if field.nullable:
                self._run.append(("b", "1"))
            self._struct(cls, held)
            self._pack()

    def _sized(self, wire: WireType, name: str, value: str, field: FieldShape) -> None:
        source = self.source
        held, length = source.name(name), source.name(f"{name}_length")
        more = " + 1" if field.flexible else ""
        encoded = f"{value}.encode()" if wire.name == "string" else value
        if field.optional:
            with source.block(f"if {value} is None:"):
                if field.nullable:
                    source.line(f"{held} = {'()' if wire.element else repr(b'')}")
                    source.line(f"{length} = {0 if field.flexible else -1}")
                else:
                    source.line(f"lacks('{name} = None', {self.version})")
            with source.block("else:"):
                source.line(f"{held} = {encoded}")
                source.line(f"{length} = len({held}){more}")
        else:
            source.line(f"{held} = {encoded}")
            source.line(f"{length} = len({held}){more}")
        if field.flexible:
            self._pack_length(length, "string_length" if wire.name == "string" else "uvarint")
        else:
            self._run.append((PREFIX_FORMATS[wire.name], length))
            self._pack()
        if wire.element is not None:
            self._elements(held, name, wire.element, field)
        elif wire.name == "records":
            self._apart(held)
        else:
            self._append(held)

    def _apart(self, held: str) -> None:
        with self.source.block(f"if len({held}):"):
            self.source.line("parts.append(b''.join(out))")
            self.source.line(f"parts.append({held})")
            self.source.line("out.clear()")

    def _elements(self, held: str, name: str, element: WireType, field: FieldShape) -> None:
        if element.name == "uuid":
            self._append(f"b''.join({held})")
            return
        if element.name in FIXED_FORMATS:
            formats = FIXED_FORMATS[element.name]
            few = self.source.packing_many(formats, "pack")
            with self.source.block(f"if len({held}) < {FEW}:"):
                self._append(f"{few}[len({held})](*{held})")
            with self.source.block("else:"):
                self._append(f"pack(f'>{{len({held})}}{formats}', *{held})")
            return
        each = self.source.name("each")
        with self.source.block(f"for {each} in {held}:"):
            self._value(element, name, each, replace(field, optional=False, nullable=False))
            self._pack()
