"""Who is measured is who was started."""

import os
import socket
import subprocess
import sys

from bench.servers import listens


def test_a_process_listens_on_the_ports_that_it_opened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert listens(os.getpid(), listener.getsockname()[1])


def test_a_stranger_that_has_the_port_is_not_taken_for_ours() -> None:
    ours = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        assert not listens(ours.pid, stranger.getsockname()[1])
    ours.communicate(b"\n")
