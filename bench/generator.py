"""Runs one load generator, and meters its broker over exactly the time that is loaded.

A generator is a program that prints {"event": "ready"} once it is connected, begins when it reads a
line, prints one JSON report, and leaves when its stdin ends; so it also ends when we die.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import IO, Any

from bench.build import BenchError, reqload
from bench.figures import Figure, Figures
from bench.meters import Look, Spent

LEAVE_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Loaded:
    report: dict[str, Any]
    spent: Spent


def drive(command: list[str], broker_pid: int, rest_s: float = 0) -> Loaded:
    """One loaded stretch; with `rest_s` the broker first calms down while connections are held."""
    generator = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert generator.stdin is not None
    assert generator.stdout is not None
    assert generator.stderr is not None
    try:
        _expect_line(generator)
        time.sleep(rest_s)
        before = Look.at(broker_pid, generator.pid)
        generator.stdin.write("\n")
        generator.stdin.flush()
        report: dict[str, Any] = json.loads(_expect_line(generator))
        after = Look.at(broker_pid, generator.pid)
        _, errors = generator.communicate(timeout=LEAVE_TIMEOUT_S)
        if generator.returncode != 0:
            raise BenchError(errors.strip())
        return Loaded(report, before.until(after))
    finally:
        if generator.poll() is None:
            generator.kill()
            generator.wait()
        for pipe in (generator.stdin, generator.stdout, generator.stderr):
            _close(pipe)


def _expect_line(generator: "subprocess.Popen[str]") -> str:
    assert generator.stdout is not None
    assert generator.stderr is not None
    line = generator.stdout.readline()
    if not line:
        raise BenchError(generator.stderr.read().strip() or "the load generator ended early")
    return line


def _close(pipe: IO[str]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:  # a generator that failed has left unread what we sent
        return


def reqload_command(address: str, topic: str, partitions: int, flags: list[str]) -> list[str]:
    named = ["-addr", address, "-topic", topic, "-parts", str(partitions)]
    return [str(reqload()), *named, *flags]


def librdkafka_command(address: str, topic: str, flags: list[str]) -> list[str]:
    named = ["--bootstrap", address, "--topic", topic]
    return [sys.executable, "-m", "bench.librdkafka", *named, *flags]


def figures(loaded: Loaded, part: str = "load") -> Figures:
    """Rate, latencies and the cost of each request, the neighbours' requests counted in."""
    report, spent = loaded.report, loaded.spent
    seen = report[part]
    requests = report["load"]["requests"] + report.get("neighbour", {}).get("requests", 0)
    if requests == 0:
        raise BenchError("no request was answered")
    return {
        Figure.RATE: report["per_s"],
        Figure.P50: seen["p50_ms"],
        Figure.P99: seen["p99_ms"],
        Figure.P999: seen["p999_ms"],
        Figure.CPU: spent.broker_us / requests,
        Figure.BUSY: spent.beside_us / requests,
    }
