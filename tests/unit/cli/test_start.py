import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.programs import PROGRAM, SECONDS_MAX, Done, invoke


def start(*arguments: str) -> Done:
    """One that does not come to serve."""
    done = subprocess.run(
        [*PROGRAM, "start", *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_properties_file_is_enough_and_a_signal_ends_it(
    tmp_path: Path, signal_number: signal.Signals
) -> None:
    (tmp_path / "server.properties").write_text(
        f"listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093\n"
        f"controller.listener.names=CONTROLLER\nnode.id=4\n"
        f"log.dirs={tmp_path}/d\\u00e1ta\nno.such.key=1\n"
    )
    process = subprocess.Popen(
        [*PROGRAM, "start", "--config", str(tmp_path / "server.properties"), "--node-id", "5"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("ottla is ready: 127.0.0.1:")
        assert ready.endswith(f" (data in {tmp_path}/dáta)\n")
        address = ready.split()[3]
        listed = subprocess.run(
            [*PROGRAM, "--bootstrap", address, "topic", "list", "--json"],
            capture_output=True,
            timeout=SECONDS_MAX,
            check=True,
        )
        assert listed.stdout == b"[]\n"
        process.send_signal(signal_number)
        out, err = process.communicate(timeout=SECONDS_MAX)
    assert (process.returncode, out) == (0, "")
    assert "WARNING --node-id 5 wins over 4 of the properties" in err
    assert "WARNING 'no.such.key' is no configuration key: ignored" in err
    assert "node.id=5" in (tmp_path / "dáta" / "meta.properties").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["--listen", "x"], 2, "'x' is not HOST:PORT, such as 127.0.0.1:9092"),
        (["--set", "x"], 2, "'x' is not KEY=VALUE"),
        (["--node-id", "-1"], 2, "-1"),
        (["--config", "no-such-file"], 2, "no-such-file"),
        (["--http", "127.0.0.1:8080"], 2, "--http is not there yet"),
        (["--listen", "0.0.0.0:0"], 2, "say which with --advertise HOST:PORT"),
        (["--set", "num.partitions=0"], 1, "configuration: num.partitions: '0' is not valid"),
        (["--set", "process.roles=controller"], 1, "a node has both roles"),
    ],
)
def test_what_cannot_be_started_is_told_before_anything_is_touched(
    tmp_path: Path, arguments: list[str], code: int, why: str
) -> None:
    done = invoke("start", "--data", str(tmp_path / "data"), *arguments)
    assert done.exit_code == code
    assert why in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_file_that_java_could_not_read_either_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("a=\\u12\n")
    done = invoke("start", "--config", str(tmp_path / "broken"))
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {tmp_path}/broken is no properties file: ")


def test_an_address_that_is_taken_is_named_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = start("--data", str(tmp_path), "--listen", address)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: cannot listen on {address}: Address already in use.")
    assert "--listen HOST:PORT" in done.err


def test_a_directory_of_another_node_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(
        "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=7\n"
        "directory.id=BBBBBBBBBBBBBBBBBBBBBA\n"
    )
    done = start("--data", str(tmp_path), "--listen", "127.0.0.1:0")
    assert (done.code, done.out) == (1, "")
    assert "the directory belongs to node 7" in done.err
    assert "start with --node-id 7" in done.err


def test_the_pipe_of_a_test_is_no_option_for_people() -> None:
    assert "--control-fd" not in invoke("start", "--help").output
