"""Writes the decoder of one message in one version, as straight-line Python.

Neighbouring fixed-size fields, and the first byte of a length after them, are unpacked together.
Structs are inlined. Every claim is checked against the bytes that remain before memory is taken.
"""

import struct

import msgspec

from ottla.errors import Malformed
from ottla.limits import REQUEST_ENTRIES_MAX
from ottla.protocol.shape import (
    FIXED_FORMATS,
    FIXED_SIZES,
    FieldShape,
    WireType,
    fields_at,
    least_size,
    message_facts,
)
from ottla.protocol.source import FEW, Source

PREFIX_FORMATS = {"string": "h", "bytes": "i", "records": "i", "array": "i"}


def decoder_source(message: type[msgspec.Struct], version: int, flexible: bool) -> Source:
    return _DecoderWriter(version, flexible).write(message)


class _DecoderWriter:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.source = Source(
            {
                "Malformed": Malformed,
                "unpack_from": struct.unpack_from,
                "UNREADABLE": (struct.error, IndexError),
            }
        )
        self._run: list[tuple[str, str]] = []
        # Of a request: what comes from our own side is as long as it is.
        self._counts_entries = False

    def write(self, message: type[msgspec.Struct]) -> Source:
        source = self.source
        source.lines.append("def decode(view, at):")
        source.line("size = len(view)")
        self._counts_entries = message_facts(message).kind == "request"
        if self._counts_entries:
            source.line(f"left = {REQUEST_ENTRIES_MAX}")
        with source.block("try:"):
            made = self._struct(message)
            source.line(f"return {made}, at")
        with source.block("except UNREADABLE:"):
            title = f"{message.__name__} v{self.version}"
            source.line(f"raise Malformed('{title} ends early') from None")
        return source

    def _later(self, formats: str, wanted: str) -> str:
        """Leave a fixed-size value to the next unpacking; its name holds only after that."""
        name = self.source.name(wanted)
        self._run.append((formats, name))
        return name

    def _unpack(self) -> None:
        run, self._run = self._run, []
        if not run:
            return
        formats = "".join(each for each, _ in run)
        if formats == "B":
            self.source.line(f"{run[0][1]} = view[at]")
        else:
            targets = ", ".join(name for _, name in run)
            unpack = self.source.packing(formats, "unpack_from")
            self.source.line(f"{targets}, = {unpack}(view, at)")
        self.source.line(f"at += {struct.calcsize('>' + formats)}")

    def _struct(self, cls: type[msgspec.Struct]) -> str:
        """Read one struct's fields; the expression that makes it afterwards."""
        fields = list(fields_at(cls, self.version, self.flexible))
        values = []
        for field in fields:
            if field.present and field.tag is None:
                values.append(self._field(field))
            elif field.present:
                values.append(self.source.name(field.name))
            else:
                values.append(self._default(field))
        if self.flexible:
            tagged = [
                (field, value)
                for field, value in zip(fields, values, strict=True)
                if field.present and field.tag is not None
            ]
            self._tags(tagged, [f.barred_tag for f in fields if f.barred_tag is not None])
        self._unpack()
        return f"{self.source.shared(cls, cls.__name__)}({', '.join(values)})"

    def _default(self, field: FieldShape) -> str:
        if field.default is list:
            return "[]"
        if isinstance(field.default, type):
            return f"{self.source.shared(field.default, field.default.__name__)}()"
        return repr(field.default)

    def _tags(self, tagged: list[tuple[FieldShape, str]], barred: list[int]) -> None:
        source = self.source
        count = self._later("B", "tags")
        self._unpack()
        for field, name in tagged:
            source.line(f"{name} = {self._default(field)}")
        with source.block(f"if {count}:"):
            self._count(count)
            if not tagged and not barred:
                source.line(f"at = skip_tags(view, at, {count})")
                return
            with source.block(f"if {count} > 127:"):
                source.line(f"{count}, at = long_uvarint(view, at, {count})")
                with source.block(f"if {count} > TAGS_MAX:"):
                    source.line("many_tags()")
            with source.block(f"for _ in range({count}):"):
                source.line("tag, at = read_uvarint(view, at)")
                for field, name in tagged:
                    with source.block(f"if tag == {field.tag}:"):
                        # Kafka does not hold a known field to the size beside it.
                        source.line("_, at = read_uvarint(view, at)")
                        value = self._field(field)
                        self._unpack()
                        source.line(f"{name} = {value}")
                        source.line("continue")
                if barred:
                    with source.block(f"if tag in {tuple(barred)}:"):
                        source.line("bad_tag(tag)")
                source.line("at = skip_tag(view, at)")

    def _field(self, field: FieldShape) -> str:
        """Read a field; the expression of its value, which holds after the next unpacking."""
        return self._value(field.type, field.name, field.nullable, field.flexible, field.tag)

    def _value(
        self, wire: WireType, name: str, nullable: bool, flexible: bool, tag: int | None
    ) -> str:
        if wire.name in FIXED_FORMATS:
            return self._later(FIXED_FORMATS[wire.name], name)
        if wire.struct is not None:
            if not nullable:
                return self._struct(wire.struct)
            return self._nullable_struct(wire.struct, name, tag)
        length = self._later("B" if flexible else PREFIX_FORMATS[wire.name], f"{name}_length")
        self._unpack()
        target = self.source.name(name)
        if wire.name == "string":
            self._string(target, length, flexible, nullable)
            return target
        if flexible:
            with self.source.block(f"if {length} > 127:"):
                self.source.line(f"{length}, at = long_uvarint(view, at, {length})")
            self.source.line(f"{length} -= 1")
        with self.source.block(f"if {length} < 0:"):
            self.source.line(f"{target} = None" if nullable else f"bad_null('{name}')")
        if wire.element is not None:
            self._array(target, length, wire.element, flexible)
        else:
            with self.source.block("else:"):
                self._bytes(target, length, wire.name)
        return target

    def _nullable_struct(self, cls: type[msgspec.Struct], name: str, tag: int | None) -> str:
        source = self.source
        self._unpack()
        target = source.name(name)
        if tag is None:
            mark = self._later("b", f"{name}_mark")
            self._unpack()
            condition = f"if {mark} < 0:"
        else:
            mark = source.name(f"{name}_mark")
            source.line(f"{mark}, at = read_uvarint(view, at)")
            condition = f"if {mark} <= 0:"
        with source.block(condition):
            source.line(f"{target} = None")
        with source.block("else:"):
            source.line(f"{target} = {self._struct(cls)}")
        return target

    def _string(self, target: str, length: str, flexible: bool, nullable: bool) -> None:
        source = self.source
        index, body = (length, f"{length} - 1") if flexible else (f"{length} + 1", length)
        with source.block(f"if {'0' if flexible else '-1'} < {length} < {128 - (not flexible)}:"):
            source.line(f"{target} = TEXT[{index}](view, at)[0].decode('utf-8', 'replace')")
            source.line(f"at += {body}")
        with source.block("else:"):
            reader = "compact_string" if flexible else "string"
            source.line(f"{target}, at = {reader}(view, at, {length})")
            if not nullable:
                with source.block(f"if {target} is None:"):
                    source.line(f"bad_null('{target.rpartition('_')[0]}')")

    def _bytes(self, target: str, length: str, kind: str) -> None:
        source = self.source
        end = source.name("end")
        source.line(f"{end} = at + {length}")
        with source.block(f"if {end} > size:"):
            source.line(f"bad_count('{target.rpartition('_')[0]}', {length})")
        lent = f"view[at:{end}]"
        source.line(f"{target} = {lent if kind == 'records' else f'bytes({lent})'}")
        source.line(f"at = {end}")

    def _array(self, target: str, count: str, element: WireType, flexible: bool) -> None:
        """Continues the `if` that dealt with null."""
        source = self.source
        least = least_size(element, False, self.version, flexible) or 1
        remaining = "size - at" if least == 1 else f"(size - at) // {least}"
        with source.block(f"elif {count} > {remaining}:"):
            source.line(f"bad_count('{target.rpartition('_')[0]}', {count})")
        with source.block("else:"):
            if element.name in FIXED_FORMATS and element.name != "uuid":
                formats = FIXED_FORMATS[element.name]
                few = source.packing_many(formats, "unpack_from")
                with source.block(f"if {count} < {FEW}:"):
                    source.line(f"{target} = [*{few}[{count}](view, at)]")
                with source.block("else:"):
                    source.line(f"{target} = [*unpack_from(f'>{{{count}}}{formats}', view, at)]")
                source.line(f"at += {count} * {FIXED_SIZES[element.name]}")
                return
            self._count(count)
            source.line(f"{target} = []")
            with source.block(f"for _ in range({count}):"):
                value = self._value(element, "element", False, flexible, None)
                self._unpack()
                source.line(f"{target}.append({value})")

    def _count(self, count: str) -> None:
        if self._counts_entries:
            self.source.line(f"left -= {count}")
            with self.source.block("if left < 0:"):
                self.source.line("many_entries()")
