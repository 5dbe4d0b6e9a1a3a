"""Every implemented (API, version) under hostile requests, in process against a whole node.

OTTLA_FUZZ_INPUTS says how many (`make fuzz`: 200,000). A block is its number: OTTLA_FUZZ_BLOCK=17
runs block 17 alone.
"""

import ctypes
import faulthandler
import gc
import os
import random
from collections import deque
from collections.abc import Iterator

import pytest

from ottla.broker.effects import Send
from ottla.errors import Malformed
from ottla.limits import REPORTED_ONCE_MAX
from ottla.names import ConnId
from ottla.protocol.apis import response_header_version
from ottla.protocol.frame import parse_request_header
from ottla.protocol.schema.metadata import MetadataRequest
from tests.fuzz.hostile import Pool, frame_of, hostile_request, mutated_frame
from tests.unit.broker.harness import Client, Harness, produced, read_reply, records_of

INPUTS = int(os.environ.get("OTTLA_FUZZ_INPUTS", "6000"))
ONLY_BLOCK = os.environ.get("OTTLA_FUZZ_BLOCK")
BLOCK_INPUTS = 1000
GOOD_CLIENT_EVERY = 100
CLIENTS_MAX = 8
# How many of the values in a request are none that a sane client would send.
ABSURDITIES = (0.0, 0.03, 0.1, 0.3, 1.0)
MUTATED = 0.5
# A block that hangs ends, and with `pytest -s` it says where.
BLOCK_SECONDS_MAX = 120
GROWTH_BYTES_MAX = 64 << 20
SETTLED_BLOCKS = 3


class HostileClient(Client):
    """Knows what it asked from the header that was sent, whatever that had become."""

    def __init__(self, harness: Harness, conn: ConnId) -> None:
        super().__init__(harness, conn)
        self.asked_in_order: deque[tuple[int, int, int]] = deque()
        self.drawn = 0

    def send_frame(self, frame: bytes) -> None:
        try:
            header = parse_request_header(memoryview(frame))
        except Malformed:
            pass
        else:
            asked = (header.correlation_id, header.api_key, header.api_version)
            self.asked_in_order.append(asked)
        super().send_frame(frame)

    def take(self, effect: Send) -> None:
        frame = b"".join(self.harness.bytes_of(part) for part in effect.parts)
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
        # Requests with acks=0 are never answered: they are passed over.
        while True:
            asked_id, key, version = self.asked_in_order.popleft()
            if asked_id == correlation_id:
                break
        if key == 18 and version > 4:
            version = 0
        read_reply(key, version, frame[8 + response_header_version(key, version) :])


class Arena:
    """A node with some topics, hostile clients and a good one."""

    def __init__(self, block: int) -> None:
        self.source = random.Random(f"fuzz {block}")
        self.harness = Harness()
        self.harness.create_topic("orders", 2)
        self.harness.create_topic("small", segment_bytes=1 << 20)
        self.harness.create_topic("compact", cleanup_policy="compact")
        self.harness.create_topic("stamped", message_timestamp_type="LogAppendTime")
        self.good = self.harness.connect()
        self.clients: list[HostileClient] = []
        self.last_frame = b""
        self.is_held = False

    def step(self) -> None:
        source, harness = self.source, self.harness
        self._maybe_change_the_weather()
        frame = self._frame()
        if not frame:
            return
        if source.random() < MUTATED:
            frame = mutated_frame(source, frame, self.last_frame or frame)
        self.last_frame = frame
        client = self._client()
        client.send_frame(frame)
        if source.random() < 0.7:
            harness.settle()

    def _maybe_change_the_weather(self) -> None:
        source, harness = self.source, self.harness
        chance = source.random()
        if chance < 0.02:
            harness.holds_flushes = not harness.holds_flushes
        elif chance < 0.04:
            harness.holds_jobs = not harness.holds_jobs
        elif chance < 0.10:
            harness.advance(source.choice((1, 10, 100, 1000, 40_000)))
        elif chance < 0.12 and self.clients:
            client = self.clients.pop(source.randrange(len(self.clients)))
            harness.close(client, "fuzz")
            del harness.clients[client.conn]

    def _frame(self) -> bytes:
        topics = self.harness.node.hosting.topics_by_id
        sessions = self.harness.node.fetch_sessions._sessions
        pool = Pool(list(topics), list(sessions), self.source.choice(ABSURDITIES))
        key, version, message = hostile_request(self.source, pool)
        correlation_id = self.source.randint(-(2**31), 2**31 - 1)
        return frame_of(self.source, key, version, correlation_id, message)

    def _client(self) -> HostileClient:
        self.clients = [client for client in self.clients if client.closed_why is None]
        usable = [client for client in self.clients if len(client.waiting) < 20]
        if usable and (len(self.clients) >= CLIENTS_MAX or self.source.random() < 0.9):
            return self.source.choice(usable)
        harness = self.harness
        harness._conns_drawn += 1
        client = HostileClient(harness, ConnId(harness._conns_drawn))
        harness.clients[client.conn] = client
        harness.node.connected(client.conn, "fuzz", harness.now)
        self.clients.append(client)
        return client

    def ask_a_good_question(self) -> None:
        harness, good = self.harness, self.good
        harness.holds_flushes = harness.holds_jobs = False
        harness.settle()
        assert not harness.node.is_storage_offline
        assert good.ask(MetadataRequest(topics=[]), 9).brokers
        if "orders" not in harness.node.hosting.topics:
            harness.create_topic("orders", 2)
        answer = produced(good.reply(good.produce("orders", b"good")))
        assert answer.error_code == 0
        fetched = good.reply(good.fetch("orders", answer.base_offset))
        assert b"good" in records_of(fetched)
        good.replies.clear()
        good.order.clear()

    def check_sizes(self) -> None:
        """What clients can make grow, with all of them gone."""
        harness, node = self.harness, self.harness.node
        harness.holds_flushes = harness.holds_jobs = False
        harness.settle()
        harness.assert_nothing_left()
        harness.advance(3_000_000_000)
        assert len(node.fetch_sessions) <= 1000
        assert len(node._reported) <= REPORTED_ONCE_MAX
        assert len(node.ack_waits) == 0
        assert node.timers.next_deadline_ms() is None
        assert node.held_bytes == 0
        assert not node.metadata._uncommitted
        assert not node.hosting._when_open
        assert node.is_quiet


def run_block(block: int, inputs: int) -> None:
    faulthandler.dump_traceback_later(BLOCK_SECONDS_MAX, exit=True, file=2)
    arena = Arena(block)
    for number in range(inputs):
        arena.step()
        if number % GOOD_CLIENT_EVERY == GOOD_CLIENT_EVERY - 1:
            arena.ask_a_good_question()
    arena.ask_a_good_question()
    arena.check_sizes()
    faulthandler.cancel_dump_traceback_later()


def resident_bytes() -> int:
    gc.collect()
    # What the allocator keeps for itself says nothing about what the node keeps.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def blocks() -> Iterator[int]:
    if ONLY_BLOCK is not None:
        yield int(ONLY_BLOCK)
        return
    yield from range(-(-INPUTS // BLOCK_INPUTS))


def test_hostile_requests_break_nothing_and_leave_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settled = 0
    for number, block in enumerate(blocks()):
        try:
            run_block(block, min(BLOCK_INPUTS, INPUTS))
        except BaseException:
            with capsys.disabled():
                print(f"\nfuzz: block {block}; OTTLA_FUZZ_BLOCK={block} runs it alone")
            raise
        if number == SETTLED_BLOCKS:
            settled = resident_bytes()
    if settled:
        assert resident_bytes() - settled <= GROWTH_BYTES_MAX
