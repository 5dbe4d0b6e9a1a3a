"""Unit tests mirror the source: who changes a module finds its tests by its path."""

import ast
import re
from collections.abc import Iterable

from tests.tidy.size import SCHEMA
from tests.tidy.source import Module

# Less than this is types and constants, which their users test.
STATEMENTS_MIN = 15

COVERS = re.compile(r"^Covers: (.+?)\.?$", re.M)


def statements(module: Module) -> int:
    return sum(
        isinstance(node, ast.stmt) and not _is_word(node)
        for function in ast.walk(module.tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if node is not function
    )


def _is_word(node: ast.stmt) -> bool:
    """A docstring, or the three dots of a protocol."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def covered_by_name(tests: Iterable[Module]) -> dict[str, None]:
    """Modules named in the docstring of a test module, as `Covers: ottla.broker.node, ...`."""
    lines = [line for test in tests for line in COVERS.findall(ast.get_docstring(test.tree) or "")]
    return dict.fromkeys(name.strip(" `") for line in lines for name in line.split(","))


def untested(modules: Iterable[Module], tests: Iterable[Module]) -> list[str]:
    tests = list(tests)
    paths = dict.fromkeys(test.path for test in tests)
    named = covered_by_name(tests)
    found = []
    for module in modules:
        if module.path.startswith(SCHEMA) or statements(module) < STATEMENTS_MIN:
            continue
        package, _, name = module.name.removeprefix("ottla.").rpartition(".")
        if module.is_package:
            package, name = module.name.removeprefix("ottla."), "package"
        folder = "".join(f"{part}/" for part in package.split(".") if part)
        mirror = f"tests/unit/{folder}test_{name}.py"
        if mirror not in paths and module.name not in named:
            found.append(
                f"{module.path}: no {mirror}, and no test module says 'Covers: {module.name}'"
            )
    return found
