"""One broker on its simulated host, and a client that speaks bytes.

Covers: ottla.sim.shell, ottla.sim.watch
"""

from collections.abc import Callable

import pytest

from ottla.errors import ErrorCode
from ottla.protocol.connection import Connection
from ottla.protocol.schema.metadata import MetadataRequest, MetadataResponse
from ottla.sim.checkers import LogWatch
from ottla.sim.disk import SimDisk
from ottla.sim.machine import HOST, Machine
from ottla.sim.network import CloseReason, End, SimNetwork
from ottla.sim.world import NS_PER_MS, NS_PER_S, World
from ottla.storage.checkpoints import CLEAN_SHUTDOWN

SETTINGS = {"node.id": "1", "process.roles": "broker,controller"}


class Caller:
    """Asks for metadata, and remembers what it was told."""

    def __init__(self, network: SimNetwork) -> None:
        self.connection: Connection[str] = Connection("caller")
        self.answers: list[MetadataResponse] = []
        self.reason: CloseReason | None = None
        self.end = network.connect("caller", HOST, self)

    def opened(self, end: End) -> None:
        end.send([bytes(part) for part in self.connection.hello() if isinstance(part, bytes)])

    def received(self, end: End, data: bytes) -> None:
        for _, response in self.connection.receive(data):
            assert isinstance(response, MetadataResponse)
            self.answers.append(response)

    def ask(self) -> bytes:
        parts = self.connection.send(MetadataRequest(topics=[]), "")
        return b"".join(part for part in parts if isinstance(part, bytes))

    def writable(self, end: End, queued_bytes: int) -> None:
        pass

    def closed(self, end: End, reason: CloseReason) -> None:
        self.reason = reason


class Stage:
    def __init__(self) -> None:
        self.world = World(5)
        self.disk = SimDisk(self.world)
        self.network = SimNetwork(self.world)
        self.watch = LogWatch()
        self.machine = Machine(self.world, self.network, self.disk, SETTINGS, self.watch)
        self.machine.start()
        self.wait(NS_PER_S // 10)

    def wait(self, duration_ns: int = 10 * NS_PER_MS) -> None:
        self.world.run_for(duration_ns)

    def call(self) -> Caller:
        caller = Caller(self.network)
        self.wait()
        return caller


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_frame_in_pieces_is_answered_once_it_is_whole(stage: Stage) -> None:
    caller = stage.call()
    frame = caller.ask()

    caller.end.send([frame[:7]])
    stage.wait()
    assert caller.answers == []
    caller.end.send([frame[7:]])
    stage.wait()

    assert [answer.error_code for answer in caller.answers] == [ErrorCode.NONE]


def test_more_frames_than_a_turn_takes_are_all_answered(stage: Stage) -> None:
    caller = stage.call()

    caller.end.send([b"".join(caller.ask() for _ in range(40))])
    stage.wait()

    assert len(caller.answers) == 40


def test_a_frame_that_announces_too_much_closes_its_connection(stage: Stage) -> None:
    caller = stage.call()

    caller.end.send([b"\x7f\xff\xff\xff"])
    stage.wait()

    assert caller.reason is CloseReason.CLOSED


def test_a_paused_process_answers_when_it_goes_on(stage: Stage) -> None:
    caller = stage.call()
    stage.machine.pause(NS_PER_S)

    caller.end.send([caller.ask()])
    stage.wait(NS_PER_S // 2)
    assert caller.answers == []
    stage.wait(NS_PER_S)

    assert len(caller.answers) == 1


@pytest.mark.parametrize("end_it", [Machine.kill, Machine.cut_power], ids=["kill", "power cut"])
def test_a_broker_that_died_starts_again_in_the_next_epoch(
    stage: Stage, end_it: Callable[[Machine], None]
) -> None:
    epoch = stage.machine.node.metadata.quorum_epoch

    end_it(stage.machine)
    assert not stage.machine.is_running
    stage.machine.start()
    stage.wait()

    assert stage.machine.node.metadata.quorum_epoch == epoch + 1
    assert stage.machine.anomalies == stage.watch.anomalies == []


def test_a_clean_stop_leaves_its_mark_and_nothing_open(stage: Stage) -> None:
    stage.call()

    stage.machine.stop()
    stage.wait(NS_PER_S)

    assert not stage.machine.is_running
    assert CLEAN_SHUTDOWN in stage.disk.paths()
    assert stage.disk.open_paths() == []


def test_a_broker_at_rest_has_no_leaks_and_one_that_is_asked_has(stage: Stage) -> None:
    assert stage.machine.leaks() == []

    stage.machine.kill()

    assert stage.machine.leaks() == ["the broker is not running"]


def test_power_that_fails_in_a_call_of_the_disk_ends_the_process(stage: Stage) -> None:
    stage.disk.cut_after(1)

    stage.call()
    stage.wait(20 * NS_PER_S)
    stage.machine.stop() if stage.machine.is_running else None
    stage.wait(NS_PER_S)

    assert not stage.machine.is_running
