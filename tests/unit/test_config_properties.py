"""Java's .properties text beside what java.util.Properties read."""

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.config_properties import BadProperties, parse_properties

RECORDED = Path(__file__).parent.parent / "recorded_configs" / "properties.json"
ANSWERS: list[tuple[str, dict[str, Any] | None]] = json.loads(RECORDED.read_text())


@pytest.mark.parametrize(("text", "expected"), ANSWERS)
def test_text_is_read_as_java_reads_it(text: str, expected: dict[str, str] | None) -> None:
    if expected is None:
        with pytest.raises(BadProperties):
            parse_properties(text)
    else:
        assert parse_properties(text) == expected


def test_keys_keep_the_order_of_their_last_lines() -> None:
    assert list(parse_properties("b=1\na=2\nb=3")) == ["a", "b"]
