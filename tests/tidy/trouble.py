"""Trouble is of three kinds (DESIGN §5): nobody swallows what he does not know."""

import ast
from collections.abc import Iterable

from tests.tidy.source import Module

SHELLS = ("ottla.server.", "ottla.sim.")
BROAD = dict.fromkeys(("Exception", "BaseException"))


def _is_broad(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Tuple):
        return any(_is_broad(element) for element in node.elts)
    return node is None or ast.unparse(node) in BROAD


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _suppresses_all(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("suppress")
        and any(_is_broad(argument) for argument in node.args)
    )


def swallowed(modules: Iterable[Module]) -> list[str]:
    """`except Exception` that does not raise again, and suppress(Exception).

    A shell has one guard: the real one, and the simulator's, which tells what a broker died of.
    """
    found = []
    guards = dict.fromkeys(SHELLS, 0)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ExceptHandler):
                if not _is_broad(node.type) or _raises_again(node):
                    continue
                shell = next((s for s in SHELLS if module.name.startswith(s)), None)
                if shell is not None:
                    guards[shell] += 1
                if shell is None or guards[shell] > 1:
                    found.append(f"{module.at(node)}: a bare except outside the shell's one guard")
            elif _suppresses_all(node):
                found.append(f"{module.at(node)}: suppresses every exception")
    return found
