"""Small by test (DESIGN §2). Lines are held to 100 by ruff (E501)."""

import ast
from collections.abc import Iterable

from tests.tidy.source import Module

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 7

# Tables, one entry a message: data.
SCHEMA = "src/ottla/protocol/schema/"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def long_text(path: str, text: str) -> list[str]:
    lines = len(text.splitlines())
    if lines <= MODULE_LINES_MAX or path.startswith(SCHEMA):
        return []
    return [f"{path}: {lines} lines, at most {MODULE_LINES_MAX}"]


def long_functions(modules: Iterable[Module]) -> list[str]:
    found = []
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    found.append(f"{module.at(node)}: {node.name} has {lines} lines")
    return found


def wide_constructors(modules: Iterable[Module]) -> list[str]:
    found = []
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, Function) and node.name in ("__init__", "__new__"):
                given = node.args
                count = len([*given.posonlyargs, *given.args, *given.kwonlyargs]) - 1
                if count > PARAMETERS_MAX:
                    found.append(f"{module.at(node)}: a constructor of {count} parameters")
    return found
