"""The text that is compiled, and whether what was compiled is of it."""

from pathlib import Path

import pytest

from ottla.protocol import codecs
from ottla.protocol.apis import request_type, response_type
from ottla.protocol.c_source import COMPILED, module_text
from ottla.protocol.facts import version_range
from ottla.protocol.shape import message_facts

PRELUDE = Path(codecs.__file__).with_suffix(".pxi").read_text(encoding="utf-8")


def test_what_was_compiled_was_written_of_this_table() -> None:
    if codecs.CODECS != "compiled":
        pytest.skip(f"the pure codecs alone: {codecs.why}")
    written = module_text(PRELUDE).rpartition("DIGEST = ")[2].strip()
    assert repr(codecs.DIGEST) == written, "stale: run make, or pip install -e ."


def test_every_version_has_its_functions() -> None:
    text = module_text(PRELUDE)
    for key in COMPILED:
        for message, kinds in (
            (request_type(key), ("decode",)),
            (response_type(key), ("encode", "frame")),
        ):
            module = message.__module__.rpartition(".")[2]
            for version in version_range(message_facts(message).versions):
                for kind in kinds:
                    assert f"\ndef {kind}_{module}_{message.__name__}_{version}(" in text


def test_versions_that_look_alike_share_one_body() -> None:
    text = module_text(PRELUDE)
    assert "cdef object read_produce_ProduceRequest_3(" in text
    assert "cdef object read_produce_ProduceRequest_4(" not in text


def test_the_same_table_gives_the_same_text() -> None:
    assert module_text(PRELUDE) == module_text(PRELUDE)
