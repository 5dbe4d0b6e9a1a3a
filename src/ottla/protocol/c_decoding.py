"""Writes the compiled decoder of one message in one version, as Cython.

As `decoding` does, but a struct is made first, and filled as its bytes come. Whatever is not as it
should be ends in `return None`: that leaves the message to the pure decoder. The functions called
are those of `codecs.pxi`.
"""

import msgspec

from ottla.limits import REQUEST_ENTRIES_MAX
from ottla.protocol.c_lines import CLines, shape_name
from ottla.protocol.shape import FIXED_SIZES, FieldShape, WireType, fields_at, least_size

INTEGERS = {
    "int8": "<int8_t> p[{}]",
    "int16": "get16(p + {})",
    "int32": "get32(p + {})",
    "int64": "get64(p + {})",
}
PREFIXES = {"string": "int16", "records": "int32", "array": "int32"}


def decoder_lines(message: type[msgspec.Struct], version: int, flexible: bool) -> str:
    """The body of a function of (view, start, at, end)."""
    return _DecoderWriter(version, flexible).write(message)


class _DecoderWriter:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.lines = CLines()
        self._run: list[tuple[int, str]] = []

    def write(self, message: type[msgspec.Struct]) -> str:
        self.lines.line("cdef const uint8_t *p")
        self.lines.line("p = at[0]")
        self._left = self.lines.local("int64_t", "left")
        self.lines.line(f"{self._left} = {REQUEST_ENTRIES_MAX}")
        made = self._struct(message)
        self._read()
        self.lines.line("at[0] = p")
        self.lines.line(f"return {made}")
        return self.lines.text()

    def _leave_if(self, condition: str) -> None:
        with self.lines.block(f"if {condition}:"):
            self.lines.line("return None")

    def _later(self, size: int, statement: str) -> None:
        """Leave a fixed-size value to the next check of what remains; {} is for where it is."""
        self._run.append((size, statement))

    def _read(self) -> None:
        run, self._run = self._run, []
        total = sum(size for size, _ in run)
        if not total:
            return
        self._leave_if(f"end - p < {total}")
        at = 0
        for size, statement in run:
            self.lines.line(statement.format(at))
            at += size
        self.lines.line(f"p += {total}")

    def _struct(self, cls: type[msgspec.Struct]) -> str:
        """Make a struct and read its fields, the last of which wait for the next `_read`."""
        made = self.lines.name(cls.__name__)
        self.lines.line(f"{made} = ottla_new({shape_name(cls)}.type)")
        self._fields(cls, made)
        return made

    def _fields(self, cls: type[msgspec.Struct], made: str) -> None:
        fields = list(fields_at(cls, self.version, self.flexible))
        for field in fields:
            place = f"{made}, {self.lines.slot(cls, field.name)}"
            if field.present and field.tag is None:
                self._value(field, place)
            else:
                self._default(field, place)
        if self.flexible:
            tagged = [field for field in fields if field.present and field.tag is not None]
            self._tags(cls, made, tagged)

    def _default(self, field: FieldShape, place: str) -> None:
        if field.default is list:
            self.lines.line(f"put({place}, [])")
        elif isinstance(field.default, type):
            cls = field.default
            made = self.lines.name(cls.__name__)
            self.lines.line(f"{made} = ottla_new({shape_name(cls)}.type)")
            for inner in fields_at(cls, self.version, self.flexible):
                self._default(inner, f"{made}, {self.lines.slot(cls, inner.name)}")
            self.lines.line(f"put({place}, {made})")
        else:
            self.lines.line(f"put({place}, {field.default!r})")

    def _tags(self, cls: type[msgspec.Struct], made: str, tagged: list[FieldShape]) -> None:
        count = self.lines.local("int64_t", "tags")
        self._later(1, f"{count} = p[{{}}]")
        self._read()
        if not tagged:
            self._leave_if(count)
            return
        tag, size = self.lines.local("int64_t", "tag"), self.lines.local("int64_t", "size")
        self._leave_if(f"{count} > 127")
        self._count(count)
        with self.lines.block(f"for _ in range({count}):"):
            self._leave_if(f"not get_uvarint(&p, end, &{tag}) or not get_uvarint(&p, end, &{size})")
            keyword = "if"
            for field in tagged:
                with self.lines.block(f"{keyword} {tag} == {field.tag}:"):
                    self._value(field, f"{made}, {self.lines.slot(cls, field.name)}")
                    self._read()
                keyword = "elif"
            with self.lines.block("else:"):
                self.lines.line("return None")

    def _value(self, field: FieldShape, place: str) -> None:
        wire = field.type
        if wire.name in INTEGERS:
            self._later(FIXED_SIZES[wire.name], f"put_int({place}, {INTEGERS[wire.name]})")
        elif wire.name == "uuid":
            self._later(16, f"put_bytes({place}, p + {{}}, 16)")
        elif wire.struct is not None:
            assert not field.nullable, field
            self.lines.line(f"put({place}, {self._struct(wire.struct)})")
        else:
            self._sized(field, place)

    def _sized(self, field: FieldShape, place: str) -> None:
        wire = field.type
        length = self.lines.local("int64_t", f"{field.name}_length")
        if field.flexible:
            self._read()
            self._leave_if(f"not get_uvarint(&p, end, &{length})")
            self.lines.line(f"{length} -= 1")
        else:
            prefix = PREFIXES[wire.name]
            self._later(FIXED_SIZES[prefix], f"{length} = {INTEGERS[prefix]}")
            self._read()
        with self.lines.block(f"if {length} < 0:"):
            self.lines.line(f"put({place}, None)" if field.nullable else "return None")
        with self.lines.block("else:"):
            if wire.element is not None:
                self._array(field.name, place, length, wire.element, field.flexible)
            elif wire.name == "records":
                self._leave_if(f"{length} > end - p")
                self.lines.line(f"put_view({place}, view, p - start, {length})")
                self.lines.line(f"p += {length}")
            else:
                self._leave_if(f"not put_text({place}, &p, end, {length})")

    def _array(self, name: str, place: str, count: str, element: WireType, flexible: bool) -> None:
        least = least_size(element, False, self.version, flexible)
        self._leave_if(f"{count} > (end - p) // {least}")
        self._count(count)
        held, index = self.lines.name(name), self.lines.local("int64_t", "index")
        self.lines.line(f"{held} = PyList_New(min({count}, FEW))")
        self.lines.line(f"put({place}, {held})")
        with self.lines.block(f"for {index} in range({count}):"):
            if element.struct is not None:
                made = self.lines.name(element.struct.__name__)
                self.lines.line(f"{made} = ottla_new({shape_name(element.struct)}.type)")
                self.lines.line(f"add({held}, {index}, {made})")
                self._fields(element.struct, made)
                self._read()
            else:
                self._later(
                    FIXED_SIZES[element.name],
                    f"add({held}, {index}, {INTEGERS[element.name]})",
                )
                self._read()

    def _count(self, count: str) -> None:
        self.lines.line(f"{self._left} -= {count}")
        self._leave_if(f"{self._left} < 0")
