"""What the deterministic core may not name (DESIGN §2): clocks, threads, files, unordered sets."""

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from tests.tidy.direction import RANK, part_of
from tests.tidy.source import Module, imported

# The one module of the client that may know asyncio.
CLIENT_SHELL = "ottla.client.shell"

# DESIGN's list, and after it other doors to the same rooms.
MODULES = dict.fromkeys(
    (
        *("asyncio", "socket", "threading", "time", "random", "secrets", "os", "pathlib"),
        *("_thread", "concurrent", "multiprocessing", "subprocess", "select", "selectors"),
        *("uvloop", "signal", "shutil", "tempfile", "glob", "fcntl", "mmap"),
    )
)
BUILTINS = dict.fromkeys(("open", "print", "set", "frozenset", "hash", "id"))
UUIDS = dict.fromkeys(("uuid1", "uuid4"))
CLOCKS = dict.fromkeys(("now", "utcnow", "today"))
SET_OPERATORS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)


def is_core(name: str) -> bool:
    part = part_of(name)
    return (part == "client" and name != CLIENT_SHELL) or RANK.get(part, 99) <= RANK["api"]


def findings(modules: Iterable[Module]) -> list[str]:
    return [
        f"{module.at(node)}: {what}"
        for module in modules
        if is_core(module.name)
        for node, what in (*_imports(module), *_expressions(module), *_builtins(module))
    ]


def _imports(module: Module) -> Iterator[tuple[ast.AST, str]]:
    for node, origin, name in imported(module):
        if origin.split(".")[0] in MODULES:
            yield node, f"imports {origin}"
        elif origin == "uuid" and name in UUIDS:
            yield node, f"imports uuid.{name}"


def _expressions(module: Module) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Set):
            yield node, "a set literal: its order is not fixed, use dict.fromkeys"
        elif isinstance(node, ast.SetComp):
            yield node, "a set comprehension: its order is not fixed, use dict.fromkeys"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, SET_OPERATORS):
            if _is_key_view(node.left) or _is_key_view(node.right):
                yield node, "an operator on a key view makes a set: use a dict comprehension"
        elif isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value).split(".")[-1]
            if node.attr in CLOCKS and owner in ("datetime", "date"):
                yield node, f"reads the clock by {owner}.{node.attr}"
            elif node.attr in UUIDS and owner == "uuid":
                yield node, f"makes a random uuid.{node.attr}"


def _is_key_view(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("keys", "items")
        and not node.args
    )


def _builtins(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Uses of banned builtins, not of a parameter or variable that bears the same name."""
    waiting: list[tuple[ast.AST, dict[str, None]]] = [(module.tree, {})]
    while waiting:
        node, bound = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            bound = bound | _bound_in(node)
        elif _loads_builtin(node) and node.id not in bound:
            yield node, f"uses {node.id}()"
        waiting.extend((child, bound) for child in ast.iter_child_nodes(node))


def _loads_builtin(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in BUILTINS


def _bound_in(function: ast.AST) -> dict[str, None]:
    names: dict[str, None] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            names[node.arg] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
    return names
