"""The two request paths of the architecture page name code that is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
# "`Log.append` in [`storage/log.py`](../src/ottla/storage/log.py)", across a line break.
STEP = re.compile(r"`([A-Za-z_.]+)` in\s+\[`[^`]+`\]\(\.\./(src/[^)]+\.py)\)")


def steps(page: str) -> list[tuple[str, str]]:
    return STEP.findall(page)


def names_of(source: str) -> dict[str, None]:
    names: dict[str, None] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = None
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    names[f"{node.name}.{inner.name}"] = None
    return names


def missing(page: str, root: Path) -> list[str]:
    return [
        f"{path} has no {name}"
        for name, path in steps(page)
        if name not in names_of((root / path).read_text())
    ]


def test_the_request_paths_name_functions_that_exist() -> None:
    page = PAGE.read_text()
    assert len(steps(page)) >= 8
    assert missing(page, ROOT) == []


def test_a_path_that_names_a_lost_function_is_found(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "log.py").write_text("class Log:\n    def read(self): ...\n")
    page = "`Log.append` in [`log.py`](../src/log.py) and `Log.read` in\n[`log.py`](../src/log.py)"
    assert missing(page, tmp_path) == ["src/log.py has no Log.append"]
