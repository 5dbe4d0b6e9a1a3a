"""The command line as a person or a script runs it."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from typing import NamedTuple

from click.testing import CliRunner, Result

from ottla.cli.main import ottla
from ottla.testing import Broker

PROGRAM = [sys.executable, "-P", "-m", "ottla"]
SECONDS_MAX = 60.0


class Done(NamedTuple):
    code: int
    out: str
    err: str


def run(broker: Broker, *arguments: str, stdin: bytes = b"") -> Done:
    done = subprocess.run(
        [*PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        env=environment(broker),
        timeout=SECONDS_MAX,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode())


def start(
    broker: Broker, *arguments: str, stdin: int = subprocess.DEVNULL
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(broker),
    )


def end(process: "subprocess.Popen[bytes]") -> Done:
    with process:
        out, err = process.communicate(timeout=SECONDS_MAX)
    return Done(process.returncode, out.decode(), err.decode())


def run_in_terminal(broker: Broker, *arguments: str, typed: bytes = b"") -> Done:
    """Input, output and errors are one terminal, so all that is shown comes as one text."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=its,
        stdout=its,
        stderr=its,
        env=environment(broker) | {"TERM": "xterm", "COLUMNS": "80"},
        start_new_session=True,
    )
    os.close(its)
    os.write(ours, typed)
    shown = b""
    # The other end of a terminal that everybody left gives an error instead of an end.
    with suppress(OSError):
        while part := os.read(ours, 1 << 16):
            shown += part
    os.close(ours)
    return Done(process.wait(SECONDS_MAX), shown.decode().replace("\r\n", "\n"), "")


def environment(broker: Broker) -> dict[str, str]:
    return os.environ | {"OTTLA_BOOTSTRAP": broker.bootstrap_servers}


def invoke(*arguments: str) -> Result:
    """In this process: for what needs no descriptors of its own."""
    return CliRunner().invoke(ottla, arguments)
