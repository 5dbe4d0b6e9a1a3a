"""Imports go one way (DESIGN §2), and packages form no circle."""

from collections.abc import Iterable

from tests.tidy.source import Module, imported, type_checking_only

ORDER: tuple[tuple[str, ...], ...] = (
    ("names", "errors", "limits", "config"),
    ("protocol", "records"),
    ("storage",),
    ("raft", "metadata", "replication", "coordinator", "security", "tiering"),
    ("broker", "api"),
    (
        *("client", "server", "sim", "gateway", "registry", "console"),
        *("mirror", "spark", "cli", "testing", "__main__"),
    ),
)
RANK = {part: rank for rank, row in enumerate(ORDER) for part in row}


def part_of(module: str) -> str:
    """`storage` for ottla.storage.log; empty for the package itself and for strangers."""
    pieces = module.split(".")
    if pieces[0] != "ottla" or len(pieces) == 1:
        return ""
    # The configs are a handful of modules, config_table.py and its like: one part.
    return "config" if pieces[1].startswith("config_") else pieces[1]


def edges(modules: Iterable[Module]) -> list[tuple[Module, int, str, str, bool]]:
    """(module, line, from, to, typing only) for each import from one part of ottla in another."""
    found = []
    for module in modules:
        unrun = type_checking_only(module.tree)
        for node, origin, name in imported(module):
            target = part_of(origin) or (part_of(f"{origin}.{name}") if origin == "ottla" else "")
            if target in RANK and target != part_of(module.name):
                edge = (module, node.lineno, part_of(module.name), target, node in unrun)
                found.append(edge)
    return found


def wrong_way(modules: Iterable[Module]) -> list[str]:
    modules = list(modules)
    strangers = [
        f"{m.path}: {part_of(m.name)!r} has no place in the order of DESIGN §2"
        for m in modules
        if part_of(m.name) and part_of(m.name) not in RANK
    ]
    return strangers + [
        f"{module.path}:{line}: {source or 'ottla'} may not import {target}"
        for module, line, source, target, _ in edges(modules)
        if source in RANK or not source
        if RANK.get(source, -1) < RANK[target]
    ]


def circles(modules: Iterable[Module]) -> list[str]:
    """Parts that import each other when run. For typing alone broker and api may."""
    graph: dict[str, dict[str, str]] = {}
    for module, line, source, target, typing_only in edges(modules):
        if not (typing_only and {source, target} == {"broker", "api"}):
            graph.setdefault(source, {}).setdefault(target, f"{module.path}:{line}")
    found = []
    for start in graph:
        reached: dict[str, str] = {}
        waiting = [start]
        while waiting:
            for target, place in graph.get(waiting.pop(), {}).items():
                if target not in reached:
                    reached[target] = place
                    waiting.append(target)
        if start in reached:
            found.append(f"{reached[start]}: {start} is imported by what it imports")
    return found


def star_imports(modules: Iterable[Module]) -> list[str]:
    return [f"{m.at(node)}: import *" for m in modules for node, _, n in imported(m) if n == "*"]
