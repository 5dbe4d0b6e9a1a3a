"""The floor: the least a Python broker can do for a produce (v9) or a fetch (v12) of one partition.

    python bench/floor.py PORT DIR PARTITIONS

It is not a broker. It splits frames, reads the request, checks the batch's CRC, stamps the offset,
appends with one writev, keeps a sparse index, and answers fetches by sendfile. No topics, checks,
versions, limits or durability: what a real broker costs above this is what its own code costs, and
benches run it beside the broker so that a budget (DESIGN D7) holds on any machine.
"""

import asyncio
import bisect
import os
import socket
import struct
import sys

import crc32c
import uvloop

BATCH_HEADER = struct.Struct(">qiibIhi")  # to the last offset delta
INDEX_INTERVAL_BYTES = 4096

FileRange = tuple[int, int, int]  # descriptor, position, count


class Log:
    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.end_offset = self.size = self.indexed = 0
        self.offsets, self.positions = [0], [0]

    def append(self, batch: memoryview) -> int:
        _, _, _, _, crc, _, last_delta = BATCH_HEADER.unpack_from(batch)
        if crc32c.crc32c(batch[21:]) != crc:
            raise ValueError("crc")
        base_offset: int = self.end_offset
        length = len(batch) - 12
        os.writev(self.fd, (struct.pack(">qii", base_offset, length, 0), batch[16:]))
        if self.size - self.indexed > INDEX_INTERVAL_BYTES:
            self.offsets.append(base_offset)
            self.positions.append(self.size)
            self.indexed = self.size
        self.size += len(batch)
        self.end_offset = base_offset + last_delta + 1
        return base_offset


def read_uvarint(view: memoryview, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = view[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def produce(view: memoryview, at: int, correlation: int, logs: list[Log]) -> list[bytes]:
    _, at = read_uvarint(view, at)  # transactional id
    at += 6  # acks, timeout
    topics, at = read_uvarint(view, at)
    out = [uvarint(topics)]
    for _ in range(topics - 1):
        size, at = read_uvarint(view, at)
        out += uvarint(size), bytes(view[at : at + size - 1])
        at += size - 1
        partitions, at = read_uvarint(view, at)
        out.append(uvarint(partitions))
        for _ in range(partitions - 1):
            index = int.from_bytes(view[at : at + 4], "big")
            size, at = read_uvarint(view, at + 4)
            base_offset = logs[index].append(view[at : at + size - 1])
            at += size  # records and the tag count
            out.append(struct.pack(">ihqqqbbb", index, 0, base_offset, -1, 0, 1, 0, 0))
        at += 1
        out.append(b"\0")
    out.append(b"\0\0\0\0\0")
    body = b"".join(out)
    return [struct.pack(">iib", len(body) + 5, correlation, 0) + body]


def fetch(view: memoryview, at: int, correlation: int, logs: list[Log]) -> list[bytes | FileRange]:
    at += 4 + 4 + 4 + 4 + 1 + 8  # replica, wait, min and max bytes, isolation, session
    _, at = read_uvarint(view, at)
    size, at = read_uvarint(view, at)
    name = bytes(view[at : at + size - 1])
    _, at = read_uvarint(view, at + size - 1)
    index, _, offset, _, _, bytes_max = struct.unpack_from(">iiqiqi", view, at)
    log = logs[index]
    position = log.positions[bisect.bisect_right(log.offsets, offset) - 1]
    count = min(bytes_max, log.size - position)
    end = log.end_offset
    head = struct.pack(">ihi", 0, 0, 0) + b"\2" + uvarint(size) + name + b"\2"
    head += struct.pack(">ihqqqbi", index, 0, end, end, 0, 0, -1) + uvarint(count + 1)
    size = len(head) + count + 3 + 5
    return [
        struct.pack(">iib", size, correlation, 0) + head,
        (log.fd, position, count),
        b"\0\0\0",
    ]


class Connection:
    __slots__ = ("buffer", "end", "loop", "queue", "sock", "start", "view", "writing")

    def __init__(self, sock: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        self.sock, self.loop, self.writing = sock, loop, False
        self.queue: list[bytes | FileRange] = []
        self.buffer = bytearray(256 << 10)
        self.view, self.start, self.end = memoryview(self.buffer), 0, 0

    def on_readable(self, logs: list[Log]) -> None:
        try:
            count = self.sock.recv_into(self.view[self.end :])
        except BlockingIOError:
            return
        except ConnectionError:
            count = 0
        if count == 0:
            self.loop.remove_reader(self.sock.fileno())
            self.sock.close()
            return
        self.end += count
        idle = not self.queue
        while self.end - self.start >= 4:
            size = int.from_bytes(self.buffer[self.start : self.start + 4], "big")
            if self.end - self.start < 4 + size:
                break
            head = struct.unpack_from(">hhih", self.view, self.start + 4)
            key, _, correlation, client_size = head
            at = self.start + 4 + 10 + client_size + 1
            self.queue += (produce if key == 0 else fetch)(self.view, at, correlation, logs)
            self.start += 4 + size
        if self.start == self.end:
            self.start = self.end = 0
        elif self.end == len(self.buffer):
            rest = self.end - self.start
            self.buffer[:rest] = self.buffer[self.start : self.end]
            self.start, self.end = 0, rest
        if self.queue and idle:
            self.flush()

    def flush(self) -> None:
        queue = self.queue
        try:
            while queue:
                part = queue[0]
                rest: bytes | FileRange | None
                if isinstance(part, tuple):
                    fd, position, count = part
                    sent = os.sendfile(self.sock.fileno(), fd, position, count)
                    rest = (fd, position + sent, count - sent) if sent < count else None
                else:
                    more = len(queue) > 1 and type(queue[1]) is tuple
                    sent = self.sock.send(part, socket.MSG_MORE if more else 0)
                    rest = part[sent:] if sent < len(part) else None
                if rest is None:
                    queue.pop(0)
                else:
                    queue[0] = rest
        except BlockingIOError:
            pass
        if bool(queue) != self.writing:
            self.writing = bool(queue)
            fd = self.sock.fileno()
            if self.writing:
                self.loop.add_writer(fd, self.flush)
            else:
                self.loop.remove_writer(fd)


async def serve(port: int, folder: str, partitions: int) -> None:
    os.makedirs(folder, exist_ok=True)
    logs = [Log(f"{folder}/{index}.log") for index in range(partitions)]
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    listener.setblocking(False)

    def on_connection() -> None:
        sock, _ = listener.accept()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(sock, loop)
        loop.add_reader(sock.fileno(), connection.on_readable, logs)

    loop.add_reader(listener.fileno(), on_connection)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
