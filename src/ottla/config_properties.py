"""Java's .properties text, as `--config FILE` gives it.

Forty lines instead of a library: the one that is well kept takes 36 ms to import, a seventh of
the time in which a broker is to be ready, for a format that no longer changes. Recorded answers
of java.util.Properties hold it.
"""

import re

# A line may end in \n, \r or \r\n, and nowhere else: str.splitlines() knows too many ends.
_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\f"
_ENTRY = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u([0-9a-fA-F]{4})|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class BadProperties(ValueError):
    """Text that Java would not load either."""


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values in the order of the file; a later line wins over an earlier one."""
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _ENTRY.fullmatch(line)
        assert match is not None  # every part of the pattern may be empty but for a lone \
        key = _unescape(match[1])
        found.pop(key, None)
        found[key] = _unescape(match[2])
    return found


def _logical_lines(text: str) -> list[str]:
    naturals = _LINE_END.split(text)
    if not naturals[-1]:
        naturals.pop()
    lines: list[str] = []
    open_line: str | None = None
    for natural in naturals:
        line = natural.lstrip(_BLANKS)
        if not open_line and (not line or line[0] in "#!"):
            open_line = None
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        continues = backslashes % 2 == 1
        open_line = (open_line or "") + (line[:-1] if continues else line)
        if not continues:
            lines.append(open_line)
            open_line = None
    return lines if open_line is None else [*lines, open_line]


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    # Two escapes may name the halves of one character, as Java's sixteen bits have it.
    halves = _ESCAPE.sub(_plain, text).encode("utf-16-le", "surrogatepass")
    return halves.decode("utf-16-le", "replace")


def _plain(match: re.Match[str]) -> str:
    if match[2]:
        return chr(int(match[2], 16))
    if match[1] == "u":
        raise BadProperties("\\u must be followed by four hexadecimal digits")
    return _CONTROLS.get(match[1], match[1])
