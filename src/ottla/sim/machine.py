"""One simulated host and the broker on it: started, killed, cut from power, paused, stopped."""

from collections.abc import Mapping
from random import Random

from ottla.api.table import route_of
from ottla.broker.boot import Addresses, WrongDirectory, boot
from ottla.broker.node import Node
from ottla.broker.stop import stop_cleanly
from ottla.config import BrokerConfig
from ottla.errors import DiskError, Refused
from ottla.metadata.image import Endpoint
from ottla.names import NodeId, Now, Uuid
from ottla.raft.directory import WrongQuorum
from ottla.sim.checkers import Anomaly, LogWatch
from ottla.sim.disk import PowerCut, SimDisk
from ottla.sim.network import SimNetwork
from ottla.sim.shell import SimShell
from ottla.sim.watch import NodeWatch
from ottla.sim.world import World

HOST = "node"
PORT = 9092
ADDRESSES = Addresses(
    NodeId(1),
    (Endpoint("PLAINTEXT", HOST, PORT, 0),),
    (Endpoint("CONTROLLER", HOST, PORT + 1, 0),),
    None,
)


class SeededEntropy:
    """Ids and nonces that the seed repeats."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def uuid(self) -> Uuid:
        return self._rng.randbytes(16)

    def session_id(self) -> int:
        return self._rng.randint(1, 2**31 - 1)


class Machine:
    def __init__(
        self,
        world: World,
        network: SimNetwork,
        disk: SimDisk,
        settings: Mapping[str, str],
        log_watch: LogWatch,
    ) -> None:
        self.world = world
        self.network = network
        self.disk = disk
        self.config, _ = BrokerConfig.load(settings)
        self.shell: SimShell | None = None
        self.repairs: list[str] = []
        self.lives = 0
        self.log_watch = log_watch
        # What it said that it may never say.
        self.anomalies: list[Anomaly] = []
        self._rng = world.rng("machine")
        self._entropy = SeededEntropy(world.rng("entropy"))
        self._watch: NodeWatch | None = None
        self._has_lost_cache = False
        self._quorum_epoch = -1

    @property
    def is_running(self) -> bool:
        return self.shell is not None

    @property
    def node(self) -> Node:
        assert self.shell is not None
        return self.shell.node

    # Verbs

    def start(self) -> None:
        assert self.shell is None
        self.lives += 1
        self.world.note(f"node boots, life {self.lives}")
        now = self.world.now()
        try:
            booted = self.disk.run(
                self.disk.begin_boot(),
                lambda disk: boot(disk, self.config, ADDRESSES, self._entropy, now),
            )
        except PowerCut:
            self._end_life()
            return
        except DiskError as error:
            self.world.note(f"node cannot start: {error.why}")
            self.disk.kill()
            return
        except (WrongDirectory, WrongQuorum) as error:
            self.anomalies.append(Anomaly("refused-start", "", str(error)))
            self.disk.kill()
            return
        self.repairs = booted.repairs
        for repair in booted.repairs:
            self.world.note(f"node repairs: {repair}")
        node = Node(booted.state, route_of, now)
        shell = SimShell(self.world, node, self.disk, self._on_cut)
        self.log_watch.restarted(cache_lost=self._has_lost_cache)
        self._has_lost_cache = False
        self._check_epoch(node.metadata.quorum_epoch)
        self._watch = NodeWatch(node, self.disk, self.log_watch)
        self.shell = shell
        shell.after_turn = self._watch.after_turn

        def on_ready(now: Now) -> None:
            self.world.note("node is ready")
            self._watch_contents()
            self.network.listen(HOST, shell)

        def begin() -> None:
            try:
                node.start(now, on_ready)
            except (DiskError, Refused) as error:
                self.world.note(f"node cannot start: {error}")
                self.kill()
                return
            shell.end_turn()

        shell.enter(begin)

    def kill(self) -> None:
        """kill -9: the page cache survives."""
        self._watch_contents()
        self._die()
        self.network.kill(HOST)
        self.disk.kill()

    def cut_power(self) -> None:
        self._watch_contents()
        self._die()
        self.network.vanish(HOST)
        self._crash()

    def pause(self, duration_ns: int) -> None:
        shell = self.shell
        if shell is not None:
            shell.pause()
            self.world.schedule(duration_ns, "node resumes", shell.resume)

    def stop(self) -> None:
        """SIGTERM: drain, wait until nothing is on its way to the disk, leave it clean."""
        shell = self.shell
        assert shell is not None
        self.world.note("node stops")
        self.network.stop_listening(HOST)

        def begin() -> None:
            shell.node.drain(self.world.now())
            shell.end_turn()
            wait()

        def wait() -> None:
            if self.shell is not shell:
                return
            if shell.node.is_quiet and not shell.jobs.in_flight:
                finish()
            else:
                self.world.schedule(1_000_000, "node waits", lambda: shell.enter(wait))

        def finish() -> None:
            shell.close_all()
            clean = self.disk.run(self.disk.begin_boot(), lambda _: stop_cleanly(shell.node))
            self.world.note(f"node stopped {'cleanly' if clean else 'uncleanly'}")
            self.kill()

        shell.enter(begin)

    def leaks(self) -> list[str]:
        if self.shell is None or self._watch is None:
            return ["the broker is not running"]
        found = self._watch.leaks(len(self.network.ends(HOST)))
        if self.shell.jobs.in_flight:
            found.append(f"{self.shell.jobs.in_flight} jobs run")
        return found

    # Within

    def _check_epoch(self, quorum_epoch: int) -> None:
        """No epoch has two leaders, and every life leads one."""
        if quorum_epoch <= self._quorum_epoch:
            detail = f"{quorum_epoch} after {self._quorum_epoch}"
            self.anomalies.append(Anomaly("quorum-epoch-reused", "", detail))
        self._quorum_epoch = quorum_epoch

    def _on_cut(self) -> None:
        """The process ended inside a disk call."""
        if self._rng.random() < 0.5:
            self.kill()
        else:
            self.cut_power()

    def _end_life(self) -> None:
        """The same, before there was a shell."""
        if self._rng.random() < 0.5:
            self.disk.kill()
        else:
            self._crash()

    def _crash(self) -> None:
        self._has_lost_cache = True
        self.disk.crash()
        self.world.clock.reboot()

    def _die(self) -> None:
        if self.shell is not None:
            shell, self.shell = self.shell, None
            shell.die()

    def _watch_contents(self) -> None:
        if self._watch is not None and self.shell is not None:
            self._watch.read_contents()
