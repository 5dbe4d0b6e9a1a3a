"""The load generator refuses every wrong answer, whichever it is."""

import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from bench.build import reqload

pytestmark = pytest.mark.skipif(
    shutil.which("go") is None, reason="there is no Go to build it with"
)

Answer = Callable[[int, int], bytes]  # (number of the request, its correlation id) → response


def produced(correlation: int, code: int = 0, partitions: int = 1) -> bytes:
    one = struct.pack(">ihqqqbbb", 0, code, 5, -1, 0, 1, 0, 0)
    body = b"\0\2\2t" + bytes([partitions + 1]) + one * partitions + b"\0" + bytes(4) + b"\0"
    return struct.pack(">ii", len(body) + 4, correlation) + body


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """Serves one connection until its client leaves."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as stream:
                turn = 0
                while size := stream.read(4):
                    frame = stream.read(struct.unpack(">i", size)[0])
                    connection.sendall(answer(turn, struct.unpack_from(">i", frame, 4)[0]))
                    turn += 1

        server = threading.Thread(target=serve)
        server.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        server.join()


def run(answer: Answer) -> "subprocess.CompletedProcess[str]":
    with answering(answer) as address:
        flags = ["-addr", address, "-topic", "t", "-conns", "1", "-requests", "3", "-now"]
        return subprocess.run([str(reqload()), *flags], capture_output=True, text=True)


def test_right_answers_are_counted() -> None:
    done = run(lambda _turn, correlation: produced(correlation))
    assert done.returncode == 0, done.stderr
    assert '"requests":3' in done.stdout


def test_an_error_code_in_any_answer_ends_it() -> None:
    done = run(lambda turn, correlation: produced(correlation, code=3 if turn == 2 else 0))
    assert done.returncode == 1
    assert "error code 3" in done.stderr


def test_answers_out_of_order_end_it() -> None:
    done = run(lambda turn, correlation: produced(correlation + turn))
    assert done.returncode == 1
    assert "out of order" in done.stderr


def test_an_answer_about_no_partition_ends_it() -> None:
    done = run(lambda _turn, correlation: produced(correlation, partitions=0))
    assert done.returncode == 1
    assert "0 partitions answered" in done.stderr


def test_an_answer_cut_short_ends_it() -> None:
    def cut(_turn: int, correlation: int) -> bytes:
        return struct.pack(">iib", 5, correlation, 0)

    done = run(cut)
    assert done.returncode == 1
    assert "ends too early" in done.stderr
