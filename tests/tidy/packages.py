"""Dependencies: each declared, pinned, explained, and none imported that is not declared."""

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import packages_distributions
from itertools import chain
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tidy.source import ROOT, Module, imported

PAGE = "docs/reference/dependencies.md"
LOCK = "requirements.lock"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def shipped(declared: Mapping[str, Any]) -> list[Requirement]:
    extras = declared["project"].get("optional-dependencies", {}).values()
    lines = [*declared["project"]["dependencies"], *chain.from_iterable(extras)]
    return [Requirement(line) for line in lines]


def wanted(declared: Mapping[str, Any]) -> list[Requirement]:
    """All that pyproject.toml names: with the package, to build it, to develop it."""
    groups = chain.from_iterable(declared["dependency-groups"].values())
    lines = [*declared["build-system"]["requires"], *groups]
    return shipped(declared) + [Requirement(line) for line in lines]


def unexplained(declared: Iterable[str], page: str) -> list[str]:
    """Names without a line on the page, and lines without a name."""
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", page, re.M)
    explained = {canonicalize_name(name) for name, *_ in rows}
    names = {canonicalize_name(name) for name in declared}
    return [f"{PAGE}: {name} has no line" for name in sorted(names - explained)] + [
        f"{PAGE}: {name} is no dependency" for name in sorted(explained - names)
    ]


def unpinned(requirements: Iterable[Requirement], lock: str) -> list[str]:
    """Lines of the lock that are no exact version, and requirements that it does not meet."""
    pins: dict[str, str] = {}
    found = []
    for line in lock.splitlines():
        if match := re.fullmatch(r"([\w.-]+)==([\w.!+]+)", line):
            pins[canonicalize_name(match[1])] = match[2]
        elif not line.startswith("#"):
            found.append(f"{LOCK}: {line!r} is no exact version")
    for requirement in requirements:
        version = pins.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            found.append(f"{LOCK}: {version} does not meet {requirement}")
    return found


def undeclared(modules: Iterable[Module], allowed: Iterable[str], own: Iterable[str]) -> list[str]:
    """Imports of packages that are neither Python's, nor ours, nor declared."""
    names = {canonicalize_name(name) for name in allowed}
    homes = packages_distributions()
    known = {*sys.stdlib_module_names, *own}
    found: dict[str, None] = {}
    for module in modules:
        for node, origin, _ in imported(module):
            top = origin.split(".")[0]
            origins = {canonicalize_name(home) for home in homes.get(top, [top])}
            if top not in known and not names & origins:
                found[f"{module.at(node)}: imports {top}, which is not declared"] = None
    return list(found)
