"""Writes the compiled encoder of one message in one version, as Cython.

As `encoding` does: neighbouring fixed-size values ask once for room. Whatever is not as it should
be ends in `return 0`: that leaves the message to the pure encoder. The functions called are those
of `codecs.pxi`.
"""

import msgspec

from ottla.protocol.c_lines import CLines, shape_name
from ottla.protocol.shape import FIXED_SIZES, FieldShape, fields_at

FIXED = {"int8": "out8", "int16": "out16", "int32": "out32", "int64": "out64", "uuid": "out_uuid"}


def encoder_lines(message: type[msgspec.Struct], version: int, flexible: bool) -> str:
    """The body of a function of (message, out, parts)."""
    return _EncoderWriter(version, flexible).write(message)


class _EncoderWriter:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.lines = CLines()
        self._run: list[tuple[int, str, bool]] = []

    def write(self, message: type[msgspec.Struct]) -> str:
        self._leave_if(f"not is_type(<PyObject *> message, {shape_name(message)}.type)")
        self._struct(message, "message")
        self._put()
        self.lines.line("return 1")
        return self.lines.text()

    def _leave_if(self, condition: str) -> None:
        with self.lines.block(f"if {condition}:"):
            self.lines.line("return 0")

    def _put(self) -> None:
        """Write the fixed-size values that wait."""
        run, self._run = self._run, []
        if not run:
            return
        self.lines.line(f"reserve(out, {sum(size for size, _, _ in run)})")
        for _, call, may_fail in run:
            if may_fail:
                self._leave_if(f"not {call}")
            else:
                self.lines.line(call)

    def _struct(self, cls: type[msgspec.Struct], holder: str) -> None:
        tagged = []
        for field in fields_at(cls, self.version, self.flexible):
            place = f"{holder}, {self.lines.slot(cls, field.name)}"
            if field.present and field.tag is None:
                self._value(field, place)
            elif field.present:
                tagged.append((field, place))
            elif not field.ignorable:
                self._leave_if(f"not {self._is_default(field, place)}")
        if self.flexible:
            self._tags(sorted(tagged, key=lambda each: each[0].tag or 0))

    def _is_default(self, field: FieldShape, place: str) -> str:
        """Whether a value is its default, as an expression; what cannot be one is none."""
        if field.default is None:
            return f"is_none({place})"
        if field.default is list:
            return f"is_empty({place})"
        if isinstance(field.default, int):
            return f"is_number({place}, {field.default})"
        cls = field.type.struct
        assert cls is not None, field
        held = self.lines.name(field.name)
        self.lines.line(f"{held} = held_struct({place}, &{shape_name(cls)})")
        inner = [
            self._is_default(each, f"{held}, {self.lines.slot(cls, each.name)}")
            for each in fields_at(cls, self.version, self.flexible)
        ]
        return f"({held} is not None and {' and '.join(inner)})"

    def _tags(self, tagged: list[tuple[FieldShape, str]]) -> None:
        flags = []
        for field, place in tagged:
            is_default = self._is_default(field, place)
            flags.append(self.lines.local("bint", f"has_{field.name}"))
            self.lines.line(f"{flags[-1]} = not {is_default}")
        self._run.append((1, f"set8(out, {' + '.join(flags) or '0'})", False))
        if not tagged:
            return
        self._put()
        for flag, (field, place) in zip(flags, tagged, strict=True):
            with self.lines.block(f"if {flag}:"):
                begin = self.lines.local("Py_ssize_t", "begin")
                self.lines.line(f"{begin} = begin_tag(out, {field.tag})")
                self._value(field, place)
                self._put()
                self.lines.line(f"end_tag(out, {begin})")

    def _value(self, field: FieldShape, place: str) -> None:
        wire = field.type
        if wire.name in FIXED:
            call = f"{FIXED[wire.name]}(out, {place})"
            self._run.append((FIXED_SIZES[wire.name], call, True))
        elif wire.struct is not None:
            assert not field.optional, field
            held = self.lines.name(field.name)
            self.lines.line(f"{held} = held_struct({place}, &{shape_name(wire.struct)})")
            self._leave_if(f"{held} is None")
            self._struct(wire.struct, held)
        else:
            self._put()
            self._sized(field, place)

    def _sized(self, field: FieldShape, place: str) -> None:
        form = f"{field.flexible}, {field.nullable}"
        if field.type.name == "string":
            self._leave_if(f"not out_text(out, {place}, {form})")
        elif field.type.name == "records":
            assert field.tag is None, field
            self._leave_if(f"not out_records(out, parts, {place}, {form})")
        elif not field.nullable:
            self._list(field, place)
        else:
            with self.lines.block(f"if is_none({place}):"):
                self.lines.line(f"out_count(out, -1, {field.flexible})")
            with self.lines.block("else:"):
                self._list(field, place)

    def _list(self, field: FieldShape, place: str) -> None:
        element = field.type.element
        assert element is not None, field
        assert element.struct is not None, field
        held, each = self.lines.local("list", field.name), self.lines.name("each")
        self.lines.line(f"{held} = held_list({place})")
        self._leave_if(f"{held} is None")
        self.lines.line(f"out_count(out, len({held}), {field.flexible})")
        with self.lines.block(f"for {each} in {held}:"):
            shape = shape_name(element.struct)
            self._leave_if(f"not is_type(<PyObject *> {each}, {shape}.type)")
            self._struct(element.struct, each)
            self._put()
