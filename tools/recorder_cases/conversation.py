"""Plays cases against one broker: connections, what may stand for what, what is waited for."""

import itertools
import re
import socket
import struct
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from tools.recorder_cases import wire
from tools.recorder_cases.batches import Batch, Joined
from tools.recorder_cases.masks import Masks, Secrets
from tools.recorder_cases.model import (
    Call,
    Case,
    Now,
    Raw,
    Receive,
    Reply,
    Saved,
    Settle,
    Step,
    TopicId,
)

ANSWER_TIMEOUT_S = 10.0
SILENCE_S = 1.0
SETTLE_TIMEOUT_S = 15.0
CLOSE = "close"
NOTHING = "nothing"
HOUR_MS = 3_600_000
PROBE_CORRELATION = 0x70000000


class RecorderError(Exception):
    """The broker could not be asked at all, or stopped serving."""


class Closed(Exception):
    """The other side closed the connection."""


class Wire:
    """One connection, as frames."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=ANSWER_TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, stream: bytes) -> None:
        try:
            self.socket.sendall(stream)
        except ConnectionError:
            raise Closed from None

    def send_frame(self, payload: bytes) -> None:
        self.send(struct.pack(">i", len(payload)) + payload)

    def receive(self, timeout_s: float = ANSWER_TIMEOUT_S) -> bytes | None:
        """The next frame, or None when there is none in time."""
        self.socket.settimeout(timeout_s)
        try:
            (size,) = struct.unpack(">i", self._exactly(4))
            return self._exactly(size)
        except TimeoutError:
            return None

    def _exactly(self, size: int) -> bytes:
        got = bytearray()
        while len(got) < size:
            try:
                part = self.socket.recv(size - len(got))
            except ConnectionError:
                raise Closed from None
            if not part:
                raise Closed
            got += part
        return bytes(got)

    def close(self) -> None:
        self.socket.close()


@dataclass(slots=True)
class Open:
    """What one case has going on."""

    case: Case
    secrets: Secrets
    wires: dict[str, Wire] = field(default_factory=dict)
    awaited: dict[str, tuple[Call, int]] = field(default_factory=dict)


class Conversation:
    """Cases one after the other against one broker, with a witness that is served all along."""

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)
        self.run = uuid.uuid4().hex[:6]
        self.now_ms = int(time.time() * 1000) - HOUR_MS
        self.correlations = itertools.count(1)
        self.numbers = itertools.count(1)
        self.witness = self._connect()
        self._wait_for_producer_ids()

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.witness.close()

    def _connect(self) -> Wire:
        try:
            return Wire(self.address)
        except OSError as error:
            raise RecorderError(f"nobody at {self.address[0]}:{self.address[1]}: {error}") from None

    def play(self, case: Case) -> list[Any]:
        """What the broker said to each step; steps that only wait leave nothing behind."""
        prefix = f"rec-{self.run}-{next(self.numbers):03}-"
        playing = Open(case, Secrets(prefix, self.now_ms))
        self._create_topics(playing)
        said: list[Any] = []
        try:
            for step in case.steps:
                if isinstance(step, Settle):
                    self._settle(playing.secrets, step)
                else:
                    said.append(self._step(playing, step))
        except Exception as trouble:
            trouble.add_note(f"in case {case.name!r}, after {len(said)} answers")
            raise
        finally:
            for wire_ in playing.wires.values():
                wire_.close()
        self._check_alive(case)
        self._drop_topics(playing)
        return said

    # Around a case

    def _ask(self, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        try:
            self.witness.send_frame(
                wire.header(api, version, next(self.correlations), "witness")
                + wire.request(api, version, body)
            )
            frame = self.witness.receive()
        except Closed:
            raise RecorderError(f"the broker closed a bystander's connection at {api}") from None
        if frame is None:
            raise RecorderError(f"the broker left a bystander without an answer to {api}")
        return wire.answer(api, version, frame)

    def _wait_for_producer_ids(self) -> None:
        """A broker that just started asks the controller for a block of them first."""
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        body = {"transactional_id": None, "transaction_timeout_ms": 60_000}
        while self._ask("init_producer_id", 4, body)["error_code"] != 0:
            if time.monotonic() > deadline:
                raise RecorderError(f"no producer ids in {SETTLE_TIMEOUT_S:.0f} s")
            time.sleep(0.02)

    def _create_topics(self, playing: Open) -> None:
        topics = [
            {
                "name": playing.secrets.name(topic.name),
                "num_partitions": topic.partitions,
                "replication_factor": 1,
                "configs": [{"name": k, "value": v} for k, v in topic.configs.items()],
            }
            for topic in playing.case.topics
        ]
        if not topics:
            return
        answer = self._ask("create_topics", 7, {"topics": topics, "timeout_ms": 10_000})
        for topic, told in zip(playing.case.topics, answer["topics"], strict=True):
            if told["error_code"] != 0:
                raise RecorderError(f"{playing.case.name}: {topic.name} not created: {told}")
            self._settle(playing.secrets, Settle(topic.name))

    def _drop_topics(self, playing: Open) -> None:
        listed = self._ask("metadata", 12, {"topics": None, "allow_auto_topic_creation": False})
        names = [topic["name"] for topic in listed["topics"]]
        ours = [name for name in names if name.startswith(playing.secrets.prefix)]
        if ours:
            topics = [{"name": name} for name in ours]
            self._ask("delete_topics", 6, {"topics": topics, "timeout_ms": 10_000})

    def _settle(self, secrets: Secrets, step: Settle) -> None:
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while not (self._is_gone if step.gone else self._is_served)(secrets, step.topic):
            if time.monotonic() > deadline:
                raise RecorderError(f"{step} did not come about in {SETTLE_TIMEOUT_S:.0f} s")
            time.sleep(0.01)

    def _is_gone(self, secrets: Secrets, topic: str) -> bool:
        return bool(self._metadata(secrets, topic)["error_code"] == 3)

    def _is_served(self, secrets: Secrets, topic: str) -> bool:
        """Metadata tells of leaders before these know that they lead, so they are asked too."""
        told = self._metadata(secrets, topic)
        if told["error_code"] != 0 or any(row["error_code"] != 0 for row in told["partitions"]):
            return False
        secrets.topic_ids[topic] = told["topic_id"]
        indexes = [row["partition_index"] for row in told["partitions"]]
        partitions = [{"partition_index": index, "timestamp": -1} for index in indexes]
        body = {"replica_id": -1, "topics": [{"name": told["name"], "partitions": partitions}]}
        answer = self._ask("list_offsets", 5, body)
        return all(row["error_code"] == 0 for row in answer["topics"][0]["partitions"])

    def _metadata(self, secrets: Secrets, topic: str) -> dict[str, Any]:
        body = {"topics": [{"name": secrets.name(topic)}], "allow_auto_topic_creation": False}
        told: dict[str, Any] = self._ask("metadata", 12, body)["topics"][0]
        return told

    def _check_alive(self, case: Case) -> None:
        try:
            self._ask("api_versions", 0, {})
            fresh = self._connect()
            fresh.send_frame(wire.header("api_versions", 0, 1, None))
            frame = fresh.receive()
            fresh.close()
        except (RecorderError, Closed) as trouble:
            raise RecorderError(f"after {case.name!r} the broker no longer serves") from trouble
        if frame is None:
            raise RecorderError(f"after {case.name!r} the broker is silent to new clients")

    # One step

    def _step(self, playing: Open, step: Step) -> Any:
        assert not isinstance(step, Settle)
        label = step.connection
        if label not in playing.wires:
            playing.wires[label] = self._connect()
        try:
            if isinstance(step, Raw):
                return self._raw(playing.wires[label], step)
            if isinstance(step, Receive):
                return self._receive(playing, *playing.awaited.pop(label))
            return self._call(playing, step)
        except Closed:
            playing.wires.pop(label).close()
            return CLOSE

    def _raw(self, wire_: Wire, step: Raw) -> Any:
        wire_.send(step.stream)
        if step.half_close:
            wire_.socket.shutdown(socket.SHUT_WR)
        return NOTHING if wire_.receive(SILENCE_S) is None else "answer"

    def _call(self, playing: Open, call: Call) -> Any:
        correlation = next(self.correlations)
        resolve = self._resolver(playing.secrets)
        body = call.body
        if not isinstance(body, bytes):
            body = wire.request(call.api, call.version, resolve(body))
        for patch in call.patches:
            body = patch.apply(body)
        header_version = call.version
        payload = wire.header(call.api, header_version, correlation, call.client_id) + body
        wire_ = playing.wires[call.connection]
        wire_.send_frame(payload)
        if call.reply is Reply.LATER:
            playing.awaited[call.connection] = (call, correlation)
            return "asked"
        if call.reply is Reply.PROBE:
            wire_.send_frame(wire.header("api_versions", 0, PROBE_CORRELATION, None))
        return self._receive(playing, call, correlation)

    def _receive(self, playing: Open, call: Call, correlation: int) -> Any:
        frame = playing.wires[call.connection].receive()
        if frame is None:
            return NOTHING
        (echoed,) = struct.unpack_from(">i", frame)
        if echoed == PROBE_CORRELATION:
            return NOTHING
        if echoed != correlation:
            return f"an answer to another request: {echoed - correlation:+}"
        if call.reply is Reply.PROBE:
            playing.wires[call.connection].receive()
        version = call.version if call.answer_version is None else call.answer_version
        try:
            answer = wire.answer(call.api, version, frame)
        except Exception as trouble:  # whatever a decoder of strange bytes may raise
            return {"undecodable": f"{type(trouble).__name__}: {trouble}", "hex": frame[:200].hex()}
        masks = Masks(playing.secrets, call.leave_out, call.only_ours)
        for name, place in call.save.items():
            playing.secrets.saved[name] = _at(answer, place)
        answer = wire.answer(call.api, version, frame, brief=True)
        return {"answer": masks.answer(call.api, answer)}

    def _resolver(self, secrets: Secrets) -> Callable[[Any], Any]:
        def resolve(value: Any) -> Any:
            match value:
                case dict():
                    return {key: resolve(item) for key, item in value.items()}
                case list() | tuple():
                    return [resolve(item) for item in value]
                case str():
                    return secrets.name(value)
                case TopicId():
                    return secrets.topic_ids[value.topic]
                case Saved():
                    return secrets.saved[value.name] + value.plus
                case Now():
                    return secrets.now_ms + value.plus_ms
                case Batch() | Joined():
                    return value.encode(resolve)
                case _:
                    return value

        return resolve


def _at(answer: Any, place: str) -> Any:
    for part in re.split(r"\.", place):
        answer = answer[int(part)] if part.isdigit() else answer[part]
    return answer
