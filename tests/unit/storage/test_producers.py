import struct
from contextlib import suppress

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.errors import ErrorCode, Refused
from ottla.storage.producers import (
    EXPIRY_SLICE_ENTRIES,
    SEQUENCE_MAX,
    CorruptSnapshot,
    Duplicate,
    ProducerBatch,
    Producers,
)
from tests.unit.storage.recorded import file_of_kafka, operations

DAY_MS = 86_400_000
SNAPSHOT = "00000000000000000120.snapshot"


def wrapped(sequence: int) -> int:
    return sequence & SEQUENCE_MAX


class Log:
    """As much of a log as producers need: it gives offsets to what they let pass."""

    def __init__(self) -> None:
        self.producers = Producers()

    def append(
        self, producer_id: int, epoch: int, sequence: int, records: int = 1, timestamp_ms: int = 0
    ) -> tuple[int, int] | Duplicate:
        last = wrapped(sequence + records - 1)
        duplicate = self.producers.check(producer_id, epoch, sequence, last)
        if duplicate:
            return duplicate
        base_offset = self.producers.map_end_offset
        last_offset = base_offset + records - 1
        self.producers.update(
            producer_id, epoch, sequence, last, base_offset, last_offset, timestamp_ms
        )
        self.producers.map_end_offset = last_offset + 1
        return base_offset, last_offset

    def refusal(self, producer_id: int, epoch: int, sequence: int) -> ErrorCode:
        with pytest.raises(Refused) as refused:
            self.append(producer_id, epoch, sequence)
        return refused.value.code


def entries_of(snapshot: bytes) -> list[bytes]:
    """Their order is the hash table's in Kafka, the order of arrival here."""
    return sorted(snapshot[at : at + 46] for at in range(10, len(snapshot), 46))


def run_against_ours(log: Log, operation: list[str]) -> list[str] | None:
    name, *numbers = operation
    match name, [int(number) for number in numbers]:
        case "append", [producer_id, epoch, sequence, records, timestamp_ms]:
            try:
                found = log.append(producer_id, epoch, sequence, records, timestamp_ms)
            except Refused as refused:
                return ["error", str(refused.code.value)]
            if isinstance(found, Duplicate):
                return ["duplicate", *map(str, found)]
            last = wrapped(sequence + records - 1)
            return ["appended", *map(str, found), str(last)]
        case "expire", [wall_ms]:
            while log.producers.expire(wall_ms, DAY_MS):
                pass
            return ["left", str(len(log.producers))]
        case "reload", [_]:
            end = log.producers.map_end_offset
            log.producers = Producers.decode_snapshot(log.producers.encode_snapshot(), end)
            return ["left", str(len(log.producers))]
    return None


def test_thousand_recorded_appends_restarts_and_expiries_end_as_in_kafka() -> None:
    log = Log()
    for number, (operation, said) in enumerate(operations("producers")):
        if operation == ["producers"]:
            log = Log()
        elif said[0] == "file":
            theirs = bytes.fromhex(said[1])
            ours = log.producers.encode_snapshot()
            assert entries_of(ours) == entries_of(theirs), f"operation {number}"
            if len(log.producers) < 2:
                assert ours == theirs
        elif said != ["none"]:
            assert run_against_ours(log, operation) == said, f"operation {number}: {operation}"


def test_a_snapshot_of_kafka_is_read_and_written_back_byte_for_byte() -> None:
    recorded = file_of_kafka(SNAPSHOT)
    producers = Producers.decode_snapshot(recorded, 120)
    assert producers.encode_snapshot() == recorded
    assert producers.map_end_offset == 120
    second = producers.get(1)
    assert second is not None
    assert second.batches() == [ProducerBatch(39, 39, 79, 79, 1_700_000_139_000)]
    assert producers.check(1, 0, 39, 39) == Duplicate(79, 79, 1_700_000_139_000)


def test_the_five_last_batches_are_known_and_the_sixth_is_out_of_order() -> None:
    log = Log()
    for sequence in range(0, 12, 2):
        log.append(7, 0, sequence, records=2, timestamp_ms=100 + sequence)
    for sequence in range(2, 12, 2):
        assert log.append(7, 0, sequence, records=2) == Duplicate(
            sequence, sequence + 1, 100 + sequence
        )
    assert log.refusal(7, 0, 0) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.producers.map_end_offset == 12


@pytest.mark.parametrize(
    ("epoch", "sequence", "code"),
    [
        (2, 4, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, 0, ErrorCode.INVALID_PRODUCER_EPOCH),
        (3, 5, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (3, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (4, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (4, 4, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)
def test_an_old_epoch_and_a_gap_are_refused(epoch: int, sequence: int, code: ErrorCode) -> None:
    log = Log()
    log.append(7, 3, 1, records=3)
    assert log.refusal(7, epoch, sequence) == code
    assert log.append(7, 3, 4) == (3, 3)


def test_a_new_epoch_begins_at_zero_and_forgets_the_window() -> None:
    log = Log()
    log.append(7, 0, 0)
    assert log.append(7, 1, 0) == (1, 1)
    assert log.append(7, 1, 0) == Duplicate(1, 1, 0)


def test_an_unknown_producer_begins_anywhere() -> None:
    assert Log().append(7, 9, 1234) == (0, 0)


def test_sequences_go_on_at_zero_after_the_largest_also_from_a_snapshot() -> None:
    log = Log()
    log.append(7, 0, SEQUENCE_MAX - 1, records=4)
    log.producers = Producers.decode_snapshot(log.producers.encode_snapshot(), 4)
    assert log.append(7, 0, SEQUENCE_MAX - 1, records=4) == Duplicate(0, 3, 0)
    assert log.append(7, 0, 2) == (4, 4)
    log.append(8, 0, SEQUENCE_MAX)
    assert log.append(8, 0, 0) == (6, 6)


def test_a_batch_that_covers_two_sent_ones_is_no_repeat() -> None:
    log = Log()
    log.append(7, 0, 0, records=2)
    log.append(7, 0, 2, records=2)
    with pytest.raises(Refused):
        log.append(7, 0, 0, records=4)


def test_the_side_file_brings_back_the_window_that_a_snapshot_leaves_out() -> None:
    log = Log()
    for sequence in range(8):
        log.append(7, 0, sequence)
    log.append(8, 0, 0)
    snapshot, window = log.producers.encode_snapshot(), log.producers.encode_window()
    restarted = Producers.decode_snapshot(snapshot, 9)
    with pytest.raises(Refused):
        restarted.check(7, 0, 3, 3)
    restarted.decode_window(window)
    assert [restarted.check(7, 0, sequence, sequence) for sequence in range(3, 8)] == [
        Duplicate(sequence, sequence, 0) for sequence in range(3, 8)
    ]
    assert restarted.encode_window() == window
    assert restarted.encode_snapshot() == snapshot


def test_a_window_older_than_its_snapshot_is_left_out() -> None:
    log = Log()
    log.append(7, 0, 0)
    log.append(7, 0, 1)
    window = log.producers.encode_window()
    log.append(7, 0, 2)
    restarted = Producers.decode_snapshot(log.producers.encode_snapshot())
    restarted.decode_window(window)
    entry = restarted.get(7)
    assert entry is not None
    assert [batch.base_sequence for batch in entry.batches()] == [2]


def test_a_window_of_an_expired_producer_brings_nobody_back() -> None:
    log = Log()
    log.append(7, 0, 0)
    log.append(7, 0, 1)
    restarted = Producers()
    restarted.decode_window(log.producers.encode_window())
    assert len(restarted) == 0


def test_every_damaged_byte_of_a_snapshot_or_a_window_is_noticed() -> None:
    log = Log()
    for sequence in range(3):
        log.append(7, 0, sequence)
    snapshot, window = log.producers.encode_snapshot(), log.producers.encode_window()
    for at in range(len(snapshot)):
        with pytest.raises(CorruptSnapshot):
            Producers.decode_snapshot(damaged(snapshot, at))
    for at in range(len(window)):
        with pytest.raises(CorruptSnapshot):
            Producers().decode_window(damaged(window, at))


def test_every_cut_of_a_snapshot_or_a_window_is_noticed() -> None:
    log = Log()
    log.append(7, 0, 0)
    log.append(7, 0, 1)
    snapshot, window = log.producers.encode_snapshot(), log.producers.encode_window()
    for size in range(len(snapshot)):
        with pytest.raises(CorruptSnapshot):
            Producers.decode_snapshot(snapshot[:size])
    for size in range(len(window)):
        with pytest.raises(CorruptSnapshot):
            Producers().decode_window(window[:size])


def damaged(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@given(st.binary(max_size=200))
def test_any_bytes_under_a_good_checksum_are_read_or_called_corrupt(body: bytes) -> None:
    head = struct.pack(">hI", 1, crc32c.crc32c(body))
    with suppress(CorruptSnapshot):
        Producers.decode_snapshot(head + body).encode_snapshot()
    with suppress(CorruptSnapshot):
        Producers().decode_window(head + body)


def test_expiry_looks_at_a_bounded_number_and_returns_to_the_rest() -> None:
    log = Log()
    for producer_id in range(2 * EXPIRY_SLICE_ENTRIES + 1):
        log.append(producer_id, 0, 0, timestamp_ms=0 if producer_id else DAY_MS)
    assert log.producers.expire(DAY_MS, DAY_MS)
    assert len(log.producers) == EXPIRY_SLICE_ENTRIES + 1
    assert log.producers.expire(DAY_MS, DAY_MS)
    assert not log.producers.expire(DAY_MS, DAY_MS)
    assert len(log.producers) == 1
    assert log.producers.get(0) is not None


def test_a_producer_within_a_transaction_does_not_expire() -> None:
    log = Log()
    log.append(7, 0, 0)
    entry = log.producers.get(7)
    assert entry is not None
    entry.current_txn_first_offset = 0
    assert not log.producers.expire(DAY_MS, DAY_MS)
    assert len(log.producers) == 1
    restarted = Producers.decode_snapshot(log.producers.encode_snapshot()).get(7)
    assert restarted is not None
    assert restarted.current_txn_first_offset == 0


def test_cutting_the_log_below_what_is_known_asks_for_a_rebuild() -> None:
    log = Log()
    log.append(7, 0, 0, records=5)
    assert not log.producers.truncate_from_end(5)
    assert log.producers.get(7) is not None
    assert log.producers.truncate_from_end(4)
    assert (len(log.producers), log.producers.map_end_offset) == (0, 0)


APPENDS = st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 6), st.integers(1, 2))


@given(st.lists(APPENDS, max_size=60))
def test_the_packed_window_decides_as_a_list_of_all_batches_would(
    appends: list[tuple[int, int, int, int]],
) -> None:
    log, twin = Log(), Twin()
    for producer_id, epoch, sequence, records in appends:
        try:
            ours: object = log.append(producer_id, epoch, sequence, records)
        except Refused as refused:
            ours = refused.code
        assert ours == twin.append(producer_id, epoch, sequence, records)


class Twin:
    """Idempotence as a search through everything that was ever appended."""

    def __init__(self) -> None:
        self.appended: list[tuple[int, int, int, int, int]] = []
        self.end = 0

    def append(self, producer_id: int, epoch: int, sequence: int, records: int) -> object:
        mine = [batch for batch in self.appended if batch[0] == producer_id]
        latest = max((batch[1] for batch in mine), default=None)
        of_epoch = [batch for batch in mine if batch[1] == epoch == latest]
        for _, _, sent, count, offset in of_epoch[-5:]:
            if (sent, count) == (sequence, records):
                return Duplicate(offset, offset + count - 1, 0)
        if latest is not None and epoch < latest:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        expected = of_epoch[-1][2] + of_epoch[-1][3] if of_epoch else 0
        if latest is not None and sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        self.appended.append((producer_id, epoch, sequence, records, self.end))
        self.end += records
        return self.end - records, self.end - 1
