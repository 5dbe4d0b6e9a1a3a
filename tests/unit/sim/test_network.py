from ottla.sim.network import CloseReason, End, LateBytes, SimNetwork
from ottla.sim.world import NS_PER_MS, NS_PER_S, World


class Owner:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.ends: list[End] = []
        self.data = b""
        self.pieces = 0
        self.queued: list[int] = []
        self.reasons: list[CloseReason] = []

    def opened(self, end: End) -> None:
        self.ends.append(end)

    def received(self, end: End, data: bytes) -> None:
        self.data += data
        self.pieces += 1

    def writable(self, end: End, queued_bytes: int) -> None:
        self.queued.append(queued_bytes)

    def closed(self, end: End, reason: CloseReason) -> None:
        self.reasons.append(reason)

    @property
    def end(self) -> End:
        return self.ends[-1]


class Net:
    """A client and a node, connected."""

    def __init__(self, seed: int = 1) -> None:
        self.world = World(seed)
        self.network = SimNetwork(self.world)
        self.client, self.node = Owner(), Owner()
        self.network.listen("node", self.node)
        self.network.connect("client", "node", self.client)
        self.run()

    def run(self, seconds: float = 1.0) -> None:
        self.world.run_for(int(seconds * NS_PER_S))


PAYLOAD = bytes(range(256)) * 400


def test_bytes_arrive_in_order_however_they_are_split() -> None:
    net = Net()
    net.network.faults.split = 1.0
    net.network.faults.slow = 0.3

    for at in range(0, len(PAYLOAD), 5_000):
        net.client.end.send([PAYLOAD[at : at + 5_000]])
    net.run(60)

    assert net.node.data == PAYLOAD
    assert net.node.pieces > 10


def test_a_sender_may_use_its_buffer_again_at_once() -> None:
    net = Net()
    buffer = bytearray(b"first")

    net.client.end.send([buffer])
    buffer[:] = b"other"
    net.run()

    assert net.node.data == b"first"


def test_connections_have_no_order_between_them() -> None:
    firsts: dict[bytes, None] = {}
    for seed in range(20):
        net = Net(seed)
        net.network.connect("client", "node", net.client)
        net.run()
        for end, name in zip(net.client.ends, (b"a", b"b"), strict=True):
            end.send([name])
        net.run()
        firsts[net.node.data] = None

    assert sorted(firsts) == [b"ab", b"ba"]


def test_nobody_listening_refuses() -> None:
    net = Net()
    stranger = Owner()

    net.network.connect("client", "nobody", stranger)
    net.run()

    assert (stranger.reasons, stranger.ends) == ([CloseReason.REFUSED], [])


def test_a_connect_through_a_cut_hangs_until_the_heal() -> None:
    net = Net()
    patient = Owner()
    net.network.cut("client", "node", one_way=True)

    net.network.connect("client", "node", patient)
    net.run(5)
    during = list(patient.ends)
    net.network.heal("client", "node", one_way=True)
    net.run(5)

    assert (during, len(patient.ends), patient.reasons) == ([], 1, [])


def test_a_close_arrives_behind_what_was_sent() -> None:
    net = Net()

    net.client.end.send([b"last words"])
    net.client.end.close()
    net.run()

    assert (net.node.data, net.node.reasons) == (b"last words", [CloseReason.CLOSED])
    assert net.client.reasons == []


def test_a_close_waits_until_a_slow_reader_has_read() -> None:
    net = Net()
    net.node.end.pause_reading()
    net.client.end.send([b"last words"])
    net.client.end.close()
    net.run()
    before = (net.node.data, list(net.node.reasons))

    net.node.end.resume_reading()
    net.run()

    assert before == (b"", [])
    assert (net.node.data, net.node.reasons) == (b"last words", [CloseReason.CLOSED])


def test_a_reset_takes_what_was_queued() -> None:
    net = Net()
    net.client.end.send([PAYLOAD])

    net.client.end.reset()
    net.run()

    assert (net.node.data, net.node.reasons) == (b"", [CloseReason.RESET])


def test_a_broken_connection_is_told_to_both_or_to_one() -> None:
    both, one = Net(), Net()

    both.network.reset_connection(both.client.end)
    one.network.reset_connection(one.client.end, one_sided=True)

    assert (both.client.reasons, both.node.reasons) == ([CloseReason.RESET], [CloseReason.RESET])
    assert (one.client.reasons, one.node.reasons) == ([CloseReason.RESET], [])
    assert one.world.ledger.faults == {"network.half_open": 1}


def test_the_side_that_was_not_told_learns_it_when_it_sends() -> None:
    net = Net()
    net.network.reset_connection(net.client.end, one_sided=True)

    net.node.end.send([b"anybody there?"])
    net.run()

    assert net.node.reasons == [CloseReason.RESET]


def test_a_slow_reader_fills_the_window_and_then_the_queue_of_the_sender() -> None:
    net = Net()
    net.network.faults.window_bytes = 10_000
    net.client.end.pause_reading()

    net.node.end.send([PAYLOAD])
    net.run()
    waiting = net.node.end.queued_bytes
    net.client.end.resume_reading()
    net.run()

    assert waiting == len(PAYLOAD) - 10_000
    assert (net.client.data, net.node.queued[-1]) == (PAYLOAD, 0)


def test_a_stalled_reader_reads_on_by_itself() -> None:
    net = Net()
    net.node.end.stall(500 * NS_PER_MS)
    net.client.end.send([b"hello"])

    net.run(0.4)
    during = net.node.data
    net.run(0.4)

    assert (during, net.node.data) == (b"", b"hello")


def test_a_one_way_cut_holds_one_direction_only() -> None:
    net = Net()
    net.network.cut("client", "node", one_way=True)
    net.client.end.send([b"held"])
    net.node.end.send([b"passes"])
    net.run(5)
    during = (net.node.data, net.client.data)

    net.network.heal("client", "node", one_way=True)
    net.run()

    assert during == (b"", b"passes")
    assert net.node.data == b"held"


def test_overlapping_cuts_are_healed_one_by_one() -> None:
    net = Net()
    net.network.cut("client", "node")
    net.network.clog("client", "node", NS_PER_S)
    net.client.end.send([b"held"])

    net.run(2)
    with_one_left = net.node.data
    net.network.heal("client", "node")
    net.run()

    assert (with_one_left, net.node.data) == (b"", b"held")


def test_a_heal_may_find_the_connection_dead() -> None:
    net = Net()
    net.network.faults.reset_on_heal = 1.0
    net.network.cut("client", "node")
    net.client.end.send([b"lost"])
    net.run()

    net.network.heal_all()
    net.run()

    assert (net.node.data, net.client.reasons) == (b"", [CloseReason.RESET])


def test_news_of_an_end_waits_for_the_heal_too() -> None:
    net = Net()
    net.network.cut("client", "node")
    net.client.end.close()
    net.run()
    during = list(net.node.reasons)

    net.network.heal_all()
    net.run()

    assert (during, net.node.reasons) == ([], [CloseReason.CLOSED])


def test_the_kernel_of_a_killed_process_tells_its_peers() -> None:
    net = Net()
    net.node.end.send([PAYLOAD])

    net.network.kill("node")
    net.run()

    assert len(net.client.reasons) == 1
    assert net.node.reasons == []
    assert net.network.ends("node") == []


def test_a_host_without_power_tells_nobody_until_it_is_back() -> None:
    net = Net()
    net.network.vanish("node")
    net.client.end.send([b"hello?"])
    net.run()
    during = list(net.client.reasons)

    net.network.listen("node", Owner())
    net.client.end.send([b"hello?"])
    net.run()

    assert (during, net.client.reasons) == ([], [CloseReason.RESET])


def test_a_connect_that_was_given_up_leaves_no_connection_behind() -> None:
    for seed in range(20):
        net = Net(seed)
        hasty = Owner()
        end = net.network.connect("client", "node", hasty)
        net.world.run_for(300_000)
        if not hasty.ends:
            end.close()
            net.run()
            assert len(net.network.ends("node")) == 1
        assert hasty.reasons == []


class Slice:
    """A part of a file that changes while it waits to be sent."""

    def __init__(self, contents: bytes) -> None:
        self.contents = contents
        self.released = 0

    def late(self) -> LateBytes:
        def read(position: int, size: int) -> bytes:
            return self.contents[position : position + size]

        def release() -> None:
            self.released += 1

        return LateBytes(len(self.contents), read, release)


def test_late_bytes_are_read_when_they_leave() -> None:
    net = Net()
    part = Slice(b"old")

    net.node.end.send([b"[", part.late(), b"]"])
    part.contents = b"new"
    net.run()

    assert (net.client.data, part.released) == (b"[new]", 1)


def test_late_bytes_that_are_gone_break_the_connection() -> None:
    net = Net()
    part = Slice(b"announced")

    net.node.end.send([b"[", part.late(), b"]"])
    part.contents = b"cut"
    net.run()

    assert (net.client.data, net.client.reasons) == (b"", [CloseReason.RESET])
    assert (net.node.reasons, part.released) == ([CloseReason.RESET], 1)


def test_late_bytes_are_released_once_whatever_becomes_of_them() -> None:
    reset, empty, dead = Slice(b"x" * 100), Slice(b""), Slice(b"x")
    net = Net()
    net.node.end.send([empty.late()])
    net.node.end.send([reset.late()])
    net.node.end.reset()
    other = Net()
    other.node.end.send([dead.late()])
    other.network.kill("node")
    net.run()
    other.run()

    assert (reset.released, empty.released) == (1, 1)
    # A dead process releases nothing.
    assert dead.released == 0


def test_random_resets_are_counted() -> None:
    net = Net()
    net.network.faults.reset = 1.0

    net.client.end.send([b"x"])
    net.run()

    assert net.world.ledger.faults == {"network.reset": 1}
