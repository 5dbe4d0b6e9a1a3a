"""Pages: every relative link leads somewhere, and a page has one title."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tests.tidy.source import ROOT, read, tracked

LINK = re.compile(r"!?\[[^\]\n]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s+(\S+)", re.M)
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$", re.M)
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2[ \t]*$", re.M | re.S)
INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?: {4}[^\n]*\n?)+")
CODE = re.compile(r"`+[^`\n]+`+")


def pages() -> list[str]:
    return [name for name in tracked() if name.endswith(".md")]


def prose(text: str) -> str:
    """The page without its code, lines kept."""
    for pattern in (FENCE, INDENTED):
        text = pattern.sub(lambda match: "\n" * match[0].count("\n"), text)
    return text


def anchors(text: str) -> dict[str, None]:
    """The names that GitHub gives to headings."""
    found: dict[str, None] = {}
    for match in HEADING.finditer(prose(text)):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[2]).lower()
        slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        number = 0
        name = slug
        while name in found:
            number += 1
            name = f"{slug}-{number}"
        found[name] = None
    return found | dict.fromkeys(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def _links(text: str) -> Iterator[str]:
    for match in LINK.finditer(CODE.sub("", prose(text))):
        yield match[1] or match[2]


def broken_links(page: str, text: str) -> list[str]:
    found = []
    for link in _links(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / PurePosixPath(page).parent / path).resolve() if path else ROOT / page
        if path.startswith("/") or not target.is_relative_to(ROOT):
            found.append(f"{page}: {link} leads out of the repository")
        elif path and not target.exists():
            found.append(f"{page}: {link} leads nowhere")
        elif anchor and target.suffix == ".md":
            there = text if not path else target.read_text(encoding="utf-8")
            if anchor not in anchors(there):
                found.append(f"{page}: {link} names no heading")
    return found


def titles(page: str, text: str) -> list[str]:
    count = sum(len(match[1]) == 1 for match in HEADING.finditer(prose(text)))
    if count == 1 and text.startswith("# "):
        return []
    return [f"{page}: {count} titles; a page has one, as its first line"]


def every_page() -> list[tuple[str, str]]:
    return [(page, read(page) or "") for page in pages()]
