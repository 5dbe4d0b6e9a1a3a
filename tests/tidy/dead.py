"""Nothing that nobody reaches: no module, no function or class of a module."""

import ast
import re
from collections.abc import Iterable, Sequence

from tests.tidy.size import SCHEMA
from tests.tidy.source import Module, imported

# What these packages name in __all__ is for other people's programs.
PUBLIC = dict.fromkeys(("ottla", "ottla.client", "ottla.testing", "ottla.spark", "pyspark_ottla"))

# A decorator that is not one of these hands the function to somebody: a command, a fixture.
PLAIN_DECORATORS = dict.fromkeys(
    (
        *("dataclass", "cache", "lru_cache", "contextmanager", "asynccontextmanager", "final"),
        *("overload", "runtime_checkable", "total_ordering", "unique"),
    )
)

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _strings(module: Module) -> Iterable[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def reached(modules: Iterable[Module], entries: Iterable[str]) -> dict[str, None]:
    """The modules that running the entries can import.

    Two ways count: an import, and a string that is a module's full name, for what is loaded on
    first use. A module of the schema is loaded by its API's name, out of its package.
    """
    known = {module.name: module for module in modules}
    found: dict[str, None] = {}
    waiting = [name for name in entries if name in known]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = None
        module = known[name]
        targets = [t for _, origin, n in imported(module) for t in (origin, f"{origin}.{n}")]
        targets += _strings(module)
        if module.is_package and module.path.startswith(SCHEMA):
            targets += [other for other in known if other.startswith(f"{name}.")]
        targets += [name.rpartition(".")[0]]
        waiting.extend(target for target in targets if target in known)
    return found


def dead_modules(modules: Sequence[Module], entries: Iterable[str]) -> list[str]:
    alive = reached(modules, entries)
    return [f"{m.path}: no entry point reaches it" for m in modules if m.name not in alive]


def _used_names(tree: ast.AST, skip: ast.AST | None = None) -> dict[str, None]:
    names: dict[str, None] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node is skip or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue  # a docstring names things without using them
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names[node.id] = None
        elif isinstance(node, ast.Attribute):
            names[node.attr] = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A quoted annotation, a table of names, the source of a function that is generated.
            names |= dict.fromkeys(re.findall(r"\w+", node.value))
        waiting.extend(ast.iter_child_nodes(node))
    return names


def _handed_over(node: Definition) -> bool:
    return node.name.startswith("pytest_") or any(
        ast.unparse(d.func if isinstance(d, ast.Call) else d).split(".")[-1] not in PLAIN_DECORATORS
        for d in node.decorator_list
    )


def _exported(module: Module) -> list[str]:
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def dead_names(modules: Sequence[Module], entries: Iterable[str]) -> list[str]:
    """Top-level functions and classes that nothing in the product names, themselves apart."""
    users: dict[str, list[Module]] = {}
    for module in modules:
        exports = dict.fromkeys(_exported(module))
        for name in _used_names(module.tree):
            if name not in exports:
                users.setdefault(name, []).append(module)
    public = {n: None for m in modules if m.name in PUBLIC for n in _exported(m)}
    public |= dict.fromkeys(entries)
    found = []
    for module in modules:
        if module.path.startswith(SCHEMA):
            continue
        for node in module.tree.body:
            if not isinstance(node, Definition) or _handed_over(node):
                continue
            if node.name in public or f"{module.name}:{node.name}" in public:
                continue
            others = [user for user in users.get(node.name, []) if user is not module]
            if not others and node.name not in _used_names(module.tree, skip=node):
                found.append(f"{module.at(node)}: nothing uses {node.name}")
    return found
