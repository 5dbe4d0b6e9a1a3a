"""The fixture `ottla_broker`, as another project's tests get it."""

import subprocess
import sys
from pathlib import Path

TESTS = """
import socket

addresses = []

def test_one(ottla_broker):
    addresses.append(ottla_broker.bootstrap_servers)
    host, port = addresses[0].split(":")
    socket.create_connection((host, int(port))).close()

def test_another_of_the_same_session(ottla_broker):
    assert addresses == [ottla_broker.bootstrap_servers]
"""


def test_the_fixture_gives_one_broker_to_the_whole_session(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(TESTS)
    # Named here so that it is there however the package was installed, and not twice.
    plugin = ["-p", "no:ottla", "-p", "ottla.testing.plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, "-q", str(tmp_path / "test_theirs.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
