"""The load generator is Go, so that one process can load a broker harder than Python could."""

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "reqload"
BINARY = SOURCE / "reqload"


class BenchError(Exception):
    """The bench cannot go on; the message says what to do."""


def reqload() -> Path:
    """The load generator's program, built when it is older than its source."""
    sources = [*SOURCE.glob("*.go"), SOURCE / "go.mod"]
    newest = max(path.stat().st_mtime for path in sources)
    if BINARY.exists() and BINARY.stat().st_mtime >= newest:
        return BINARY
    go = shutil.which("go")
    if go is None:
        raise BenchError("The load generator needs Go 1.19 or later: apt install golang-go")
    built = subprocess.run(
        [go, "build", "-o", BINARY.name, "."], cwd=SOURCE, capture_output=True, text=True
    )
    if built.returncode != 0:
        raise BenchError(f"The load generator does not build:\n{built.stderr}")
    return BINARY
