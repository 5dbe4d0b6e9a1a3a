"""The rules of DESIGN §2 and §5, held over the whole tree; each is shown a bad sample too."""

import pytest

from tests.tidy import banned, dead, direction, mirror, size, trouble
from tests.tidy.packages import project
from tests.tidy.source import expect_none, house, product, read, sample, tracked


def entries() -> tuple[list[str], list[str]]:
    """(modules, module:function) that somebody starts from outside."""
    declared = project()["project"]
    plugins = declared.get("entry-points", {}).get("pytest11", {})
    build = "ottla.protocol.c_source:module_text"  # which setup.py calls
    functions = [*declared["scripts"].values(), *plugins.values(), build]
    modules = [function.partition(":")[0] for function in functions]
    return [*modules, "ottla.__main__", "pyspark_ottla"], functions


def test_every_module_parses() -> None:
    expect_none([m.unreadable for m in (*product(), *house()) if m.unreadable])


def test_imports_go_one_way() -> None:
    expect_none(direction.wrong_way(product()))


def test_no_two_parts_import_each_other() -> None:
    expect_none(direction.circles(product()))


def test_nobody_imports_a_star() -> None:
    expect_none(direction.star_imports([*product(), *house()]))


def test_the_core_names_no_clock_no_socket_no_file_and_no_set() -> None:
    expect_none(banned.findings(product()))


def test_modules_are_short() -> None:
    sources = [name for name in tracked() if name.endswith((".py", ".pyx"))]
    expect_none([f for name in sources for f in size.long_text(name, read(name) or "")])


def test_functions_are_short() -> None:
    expect_none(size.long_functions([*product(), *house()]))


def test_constructors_are_narrow() -> None:
    expect_none(size.wide_constructors([*product(), *house()]))


def test_nobody_swallows_an_exception_that_he_does_not_know() -> None:
    expect_none(trouble.swallowed(product()))


def test_every_module_is_reached_from_an_entry_point() -> None:
    expect_none(dead.dead_modules(product(), entries()[0]))


def test_every_function_and_class_is_used() -> None:
    expect_none(dead.dead_names(product(), entries()[1]))


def test_unit_tests_mirror_the_source() -> None:
    expect_none(mirror.untested(product(), house()))


def test_a_module_that_does_not_parse_is_found() -> None:
    assert sample("ottla.x", "x =").unreadable == "src/ottla/x.py:1: invalid syntax"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ottla.storage.log", "from ottla.broker import node"),
        ("ottla.storage.log", "from ..broker.node import Node"),
        ("ottla.storage.log", "def late():\n    import ottla.server.main"),
        ("ottla.names", "from ottla import protocol"),
        ("ottla.gadgets.one", "x = 1"),
    ],
)
def test_an_import_against_the_order_is_found(name: str, text: str) -> None:
    assert len(direction.wrong_way([sample(name, text)])) == 1


def test_an_import_along_the_order_is_none_of_our_business() -> None:
    good = sample("ottla.broker.node", "import ottla.names\nfrom ottla.storage.log import Log\n")
    assert direction.wrong_way([good]) == []


def test_two_parts_that_import_each_other_are_found_unless_for_typing() -> None:
    api = sample("ottla.api.produce", "from ottla.broker.node import Node")
    broker = "from ottla.api.produce import handle"
    typing = f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {broker}\n"
    assert len(direction.circles([api, sample("ottla.broker.node", broker)])) == 2
    assert direction.circles([api, sample("ottla.broker.node", typing)]) == []


def test_a_star_import_is_found() -> None:
    assert len(direction.star_imports([sample("ottla.cli.main", "from x import *")])) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import asyncio",
        "import os.path",
        "from time import monotonic",
        "from concurrent.futures import Future",
        "from uuid import uuid4",
        "import uuid\nx = uuid.uuid4()",
        "import datetime\nx = datetime.datetime.now()",
        "open('x')",
        "print('x')",
        "x = set()",
        "x: frozenset[str]",
        "x = {1, 2}",
        "x = {y for y in (1, 2)}",
        "x = {1: 2}.keys() - {3: 4}.keys()",
        "x = sorted([1, 2], key=id)",
        "def f(id: int) -> int:\n    return id\nx = hash('a')",
    ],
)
def test_a_banned_name_is_found_in_the_core_and_allowed_in_the_shell(text: str) -> None:
    core = (sample("ottla.raft.quorum", text), sample("ottla.client.producer", text))
    shell = (sample("ottla.server.main", text), sample(banned.CLIENT_SHELL, text))
    assert len(banned.findings(core)) == 2
    assert banned.findings(shell) == []


def test_a_name_that_only_resembles_a_banned_one_is_allowed() -> None:
    text = """
from uuid import UUID
def f(id, disk, node, sample):
    disk.open(id)
    return node.now.mono_ms, node.set(id), {1: 2}.keys(), sample.hash
"""
    assert banned.findings([sample("ottla.broker.node", text)]) == []


def test_a_long_module_is_found_unless_it_is_schema() -> None:
    assert size.long_text("src/ottla/storage/log.py", "\n" * 600) == []
    assert len(size.long_text("src/ottla/storage/log.py", "\n" * 601)) == 1
    assert size.long_text("src/ottla/protocol/schema/fetch.py", "\n" * 601) == []


def test_a_long_function_is_found() -> None:
    assert size.long_functions([sample("ottla.x", "def f():\n" + "    x = 1\n" * 59)]) == []
    assert len(size.long_functions([sample("ottla.x", "def f():\n" + "    x = 1\n" * 60)])) == 1


def test_a_wide_constructor_is_found() -> None:
    text = "class A:\n    def __init__(self, a, b, c, d, e, f, *, g{more}): ..."
    assert size.wide_constructors([sample("ottla.x", text.format(more=""))]) == []
    assert len(size.wide_constructors([sample("ottla.x", text.format(more=", h"))])) == 1


@pytest.mark.parametrize("caught", ["", " Exception", " (OSError, BaseException)"])
def test_a_bare_except_is_found_outside_the_one_guard(caught: str) -> None:
    text = f"try:\n    x = 1\nexcept{caught}:\n    x = 2\n"
    assert len(trouble.swallowed([sample("ottla.cli.main", text)])) == 1
    assert trouble.swallowed([sample("ottla.server.runner", text)]) == []
    assert len(trouble.swallowed([sample("ottla.server.runner", text + text)])) == 1
    assert trouble.swallowed([sample("ottla.cli.main", f"{text}    raise\n")]) == []


def test_suppressing_every_exception_is_found() -> None:
    text = "with contextlib.suppress(Exception):\n    x = 1"
    assert len(trouble.swallowed([sample("ottla.cli.main", text)])) == 1


def test_a_module_that_no_entry_point_reaches_is_found() -> None:
    modules = [
        sample("ottla", "", "src/ottla/__init__.py"),
        sample("ottla.cli.main", "from ottla.names import Now\nLAZY = 'ottla.limits'"),
        sample("ottla.names", "from ottla import errors"),
        sample("ottla.errors", ""),
        sample("ottla.limits", ""),
        sample("ottla.config", "import ottla.names"),
    ]
    found = dead.dead_modules(modules, ["ottla.cli.main"])
    assert found == ["src/ottla/config.py: no entry point reaches it"]


def test_a_function_that_only_itself_calls_is_found() -> None:
    modules = [
        sample("ottla.a", "def used(): ...\ndef unused():\n    return unused()\nclass Lost: ..."),
        sample("ottla.b", "from ottla.a import used, unused\nused()\ndef main(): ..."),
        sample("ottla.c", "@group.command()\ndef start(): ...\n@dataclass\nclass Forgotten: ..."),
        sample("ottla.d", "def bad(): ...\nTEXT = f'raise bad({1})'\ndef told(): ...\n'told'"),
        sample("ottla.testing", "__all__ = ['Broker']\nclass Broker: ...", "x/__init__.py"),
    ]
    found = [line.rpartition(" ")[2] for line in dead.dead_names(modules, ["ottla.b:main"])]
    assert found == ["unused", "Lost", "Forgotten", "told"]


def test_a_module_without_its_tests_is_found() -> None:
    module = sample("ottla.storage.log", "def f():\n" + "    x = 1\n" * 15)
    small = sample("ottla.storage.other", "def f():\n" + "    x = 1\n" * 14)
    own = sample("t", "", "tests/unit/storage/test_log.py")
    other = sample("t", '"""Both.\n\nCovers: ottla.names, ottla.storage.log.\n"""')
    assert len(mirror.untested([module, small], [])) == 1
    assert mirror.untested([module], [own]) == mirror.untested([module], [other]) == []
