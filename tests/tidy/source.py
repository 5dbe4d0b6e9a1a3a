"""The tree as the tidy rules read it: parsed once, shared by all of them.

A rule is a function from modules to a list of findings, so that a test can feed it a bad sample and
see that it fails.
"""

import ast
import functools
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Module:
    name: str  # ottla.storage.log; a package is named without its __init__
    path: str  # from the root, with slashes
    text: str
    tree: ast.Module = field(repr=False, compare=False)
    unreadable: str = ""  # why it does not parse: one broken file must not hide the others

    @property
    def is_package(self) -> bool:
        return self.path.endswith("/__init__.py")

    @property
    def package(self) -> str:
        """What a relative import starts from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    def at(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


def sample(name: str, text: str, path: str | None = None) -> Module:
    """A module out of a string, for the proof that a rule can fail."""
    return parsed(name, path or f"src/{name.replace('.', '/')}.py", text)


def parsed(name: str, path: str, text: str) -> Module:
    try:
        return Module(name, path, text, ast.parse(text))
    except SyntaxError as error:
        return Module(name, path, "", ast.Module([], []), f"{path}:{error.lineno}: {error.msg}")


def _load(path: Path, base: Path) -> Module:
    parts = path.relative_to(base).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return parsed(name, path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def expect_none(findings: list[str]) -> None:
    """Fail with the findings one a line: they are all that anybody wants to read."""
    if findings:
        pytest.fail("\n".join(findings), pytrace=False)


@functools.cache
def product() -> tuple[Module, ...]:
    """Every module that is shipped."""
    base = ROOT / "src"
    return tuple(_load(path, base) for path in sorted(base.rglob("*.py")))


@functools.cache
def house() -> tuple[Module, ...]:
    """Every module that is not shipped: tests, tools, bench."""
    paths = [p for top in ("tests", "tools", "bench") for p in sorted((ROOT / top).rglob("*.py"))]
    return tuple(_load(path, ROOT) for path in paths)


@functools.cache
def tracked() -> tuple[str, ...]:
    """Every file that git would carry, with those not yet added; outside a repository, all text."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())


def read(name: str) -> str | None:
    """The text of a file, or None where it is not text."""
    try:
        return (ROOT / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def type_checking_only(tree: ast.Module) -> frozenset[ast.AST]:
    """The nodes under `if TYPE_CHECKING:`, which never run."""
    return frozenset(
        node
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test).endswith("TYPE_CHECKING")
        for statement in branch.body
        for node in ast.walk(statement)
    )


def imported(module: Module) -> Iterator[tuple[ast.stmt, str, str]]:
    """(statement, module, name) of every import; the name is empty for a plain `import x`."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                parents = module.package.split(".")
                parents = parents[: len(parents) - node.level + 1]
                origin = ".".join([*parents, origin] if origin else parents)
            yield from ((node, origin, alias.name) for alias in node.names)
