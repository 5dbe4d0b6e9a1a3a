"""What no file of the repository may carry, and what a silenced checker must say."""

import io
import re
import tokenize

# Written so that none of them matches itself.
MACHINE_PATHS = re.compile(r"(?<![\w.~*-])/(?:root|home|Users|work)/[\w.]")
REGISTRIES = re.compile(
    r"pypi[.]org|pythonhosted[.]org|repo1?[.]maven|maven[.]apache[.]org/maven2|registry[.]npmjs"
    r"|[-]-(?:extra-)?index-url|[-]-find-links|[-]-trusted-host|[a]rtifactory",
    re.I,
)
SECRETS = re.compile(
    r"-{5}BEGIN [A-Z ]*PRIVATE KEY-{5}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_\w{36}|\bgithub_pat_\w{22}"
    r"|\bglpat-[\w-]{20}|\bxox[abprs]-[\w-]{10}|\bAIza[\w-]{35}\b|\bsk-[\w-]{32}"
    r"|\beyJ[\w-]{10,}[.]eyJ[\w-]{10,}[.]|://[^\s/:@{}$<>]+:[^\s/:@{}$<>]+@"
)
FORBIDDEN = (
    ("a path of somebody's machine", MACHINE_PATHS),
    ("the host of a package registry", REGISTRIES),
    ("something like a secret", SECRETS),
)

SILENCED = re.compile(r"#\s*(type:\s*ignore|noqa|ruff:\s*noqa|mypy:|pragma:\s*no|pylint:|nosec)")
# The checker's code, then a reason as a second comment: `...: E501  # the vector of RFC 3720`.
EXPLAINED = re.compile(
    r"#\s*(?:type:\s*ignore\[[\w, -]+\]|noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|pragma: no \w+)"
    r"\s+# \w.{9,}"
)


def forbidden(name: str, text: str) -> list[str]:
    return [
        f"{name}:{number}: {what}"
        for what, pattern in FORBIDDEN
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def unexplained(name: str, text: str) -> list[str]:
    """Comments that silence a checker and do not say why."""
    if not SILENCED.search(text):
        return []
    return [
        f"{name}:{token.start[0]}: silences a checker without a code and a reason"
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
        if SILENCED.search(token.string) and not EXPLAINED.search(token.string)
    ]


UNFINISHED = re.compile("|".join((r"\bTO" r"DO\b", r"\bFIX" r"ME\b", r"\bX" r"XX\b")))


def unfinished(name: str, text: str) -> list[str]:
    """Notes to oneself belong in docs/internals/status.md."""
    return [
        f"{name}:{number}: an unfinished note"
        for number, line in enumerate(text.splitlines(), 1)
        if UNFINISHED.search(line)
    ]
