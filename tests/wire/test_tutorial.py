"""Whoever follows a tutorial word for word gets what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorial").glob("*.md"))
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS_MAX = 120


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_tests_of_a_tutorial_pass(page: Path, tmp_path: Path) -> None:
    steps = PYTHON.findall(page.read_text())
    assert steps
    file = tmp_path / "test_orders.py"
    file.write_text("\n".join(steps))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(re.findall('^def test_', file.read_text(), re.MULTILINE))} passed" in done.stdout
