import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.storage.index import NO_TIMESTAMP, OffsetIndex, TimeIndex
from tests.unit.storage.recorded import file_of_kafka, operations

OFFSET_FILE = "00000000000000000000.index"
TIME_FILE = "00000000000000000000.timeindex"
BASE = 1000


def offset_index_of(*entries: tuple[int, int]) -> OffsetIndex:
    index = OffsetIndex(BASE)
    for offset, position in entries:
        index.append(offset, position)
    return index


def time_index_of(*entries: tuple[int, int]) -> TimeIndex:
    index = TimeIndex(BASE)
    for timestamp, offset in entries:
        index.maybe_append(timestamp, offset)
    return index


class Both:
    def __init__(self, base_offset: int = 0, index_bytes_max: int = 96) -> None:
        self.offsets = OffsetIndex(base_offset, index_bytes_max)
        self.times = TimeIndex(base_offset, index_bytes_max)

    def run(self, operation: list[str]) -> str:
        name, *words = operation
        numbers = [int(word) for word in words]
        match name:
            case "position":
                self.offsets.append(*numbers)
                return f"{len(self.offsets)} {str(self.offsets.is_full).lower()}"
            case "time":
                self.times.maybe_append(*numbers)
                return f"{len(self.times)} {str(self.times.is_full).lower()}"
            case "lookupOffset":
                offset, position = self.offsets.lookup(*numbers)
                assert self.offsets.lookup_position(*numbers) == position
                return f"{offset} {position}"
            case "lookupTime":
                return " ".join(map(str, self.times.lookup(*numbers)))
            case "truncate":
                self.offsets.truncate_to(*numbers)
                self.times.truncate_to(*numbers)
                timestamp, offset = self.times.last_entry
                return f"{self.offsets.last_offset} {timestamp} {offset}"
        assert name == "bytes"
        return f"{self.offsets.encode().hex()} {self.times.encode().hex()}".strip()


def test_recorded_appends_lookups_and_truncations_end_as_in_kafka() -> None:
    both = Both()
    for number, (operation, said) in enumerate(operations("indexes")):
        if operation[0] == "indexes":
            both = Both(int(operation[1]), int(operation[2]))
        else:
            assert both.run(operation) == " ".join(said), f"operation {number}: {operation}"


@pytest.mark.parametrize(("name", "kind"), [(OFFSET_FILE, OffsetIndex), (TIME_FILE, TimeIndex)])
def test_an_index_of_kafka_is_read_and_written_back_byte_for_byte(
    name: str, kind: type[OffsetIndex] | type[TimeIndex]
) -> None:
    recorded = file_of_kafka(name)
    index = kind.decode(0, recorded)
    assert len(index) == 119
    assert index.encode() == recorded
    assert kind.is_sane(recorded)


def test_the_entries_of_a_recorded_index_are_those_that_kafka_prints() -> None:
    offsets = OffsetIndex.decode(0, file_of_kafka(OFFSET_FILE))
    assert list(offsets.entries())[:2] == [(1, 131), (2, 262)]
    assert offsets.lookup(119) == (119, 15678)
    times = TimeIndex.decode(0, file_of_kafka(TIME_FILE))
    assert list(times.entries())[:2] == [(1_700_000_001_000, 1), (1_700_000_002_000, 2)]
    assert times.last_entry == (1_700_000_239_000, 119)


@pytest.mark.parametrize(
    ("name", "kind", "size"),
    [(OFFSET_FILE, OffsetIndex, 10_485_760), (TIME_FILE, TimeIndex, 10_485_756)],
)
def test_an_index_that_a_killed_kafka_left_preallocated_ends_before_the_zeros(
    name: str, kind: type[OffsetIndex] | type[TimeIndex], size: int
) -> None:
    recorded = file_of_kafka(name)
    preallocated = recorded + bytes(size - len(recorded))
    assert kind.decode(0, preallocated).encode() == recorded
    assert kind.is_sane(preallocated)
    assert len(kind.decode(7, bytes(size))) == 0
    assert kind.is_sane(bytes(size))


@pytest.mark.parametrize("kind", [OffsetIndex, TimeIndex])
def test_rot_ends_an_index_and_makes_it_insane(kind: type[OffsetIndex] | type[TimeIndex]) -> None:
    name = OFFSET_FILE if kind is OffsetIndex else TIME_FILE
    recorded = file_of_kafka(name)
    entry = kind.ENTRY_BYTES
    for rotten in (
        recorded[: 50 * entry] + bytes(entry) + recorded[51 * entry :],
        recorded[: 50 * entry] + recorded[:entry] + recorded[51 * entry :],
    ):
        assert kind.decode(0, rotten).encode() == recorded[: 50 * entry]
        assert not kind.is_sane(rotten)
    assert not kind.is_sane(b"\xff" * entry)
    assert len(kind.decode(0, b"\xff" * entry)) == 0
    assert not kind.is_sane(recorded[:-1])
    assert len(kind.decode(0, recorded[:-1])) == 118


def test_an_empty_index_points_at_the_begin_of_its_segment() -> None:
    assert OffsetIndex(BASE).lookup(BASE + 5) == (BASE, 0)
    assert OffsetIndex(BASE).last_offset == BASE
    assert OffsetIndex(BASE).encode() == b""
    assert TimeIndex(BASE).lookup(5) == (NO_TIMESTAMP, BASE)
    assert TimeIndex(BASE).last_entry == (NO_TIMESTAMP, BASE)


def test_a_timestamp_that_has_not_risen_is_not_noted_again() -> None:
    index = time_index_of((5, 1001), (5, 1009), (5, 1001), (7, 1010))
    assert list(index.entries()) == [(5, 1001), (7, 1010)]


def test_the_last_slot_of_a_time_index_is_kept_for_the_roll() -> None:
    index = TimeIndex(0, index_bytes_max=35)
    assert (index.entries_max, OffsetIndex.max_entries(35)) == (2, 4)
    fullness = []
    for offset in range(2):
        fullness.append(index.is_full)
        index.maybe_append(offset + 1, offset)
    assert fullness == [False, True]
    assert len(index) == 2


def test_only_new_entries_are_encoded_for_a_flush() -> None:
    offsets = offset_index_of((1001, 9), (1005, 99), (1010, 999))
    assert offsets.encode_from(2) == offsets.encode()[16:]
    assert offsets.encode_from(3) == b""
    times = time_index_of((1, 1001), (2, 1005), (3, 1010))
    assert times.encode_from(1) == times.encode()[12:]


def test_after_a_truncation_the_index_goes_on_from_the_cut() -> None:
    offsets = offset_index_of((1001, 9), (1005, 99), (1010, 999))
    offsets.truncate_to(1005)
    assert (offsets.last_offset, len(offsets)) == (1001, 1)
    offsets.append(1005, 50)
    assert offsets.lookup(1006) == (1005, 50)
    times = time_index_of((1, 1001), (2, 1005), (3, 1010))
    times.truncate_to(1001)
    assert times.last_entry == (NO_TIMESTAMP, BASE)
    times.maybe_append(1, 1002)
    assert times.lookup(9) == (1, 1002)


RISING = st.lists(st.tuples(st.integers(1, 2**20), st.integers(1, 2**20)), max_size=30)


def summed(steps: list[tuple[int, int]], first: int, second: int) -> list[tuple[int, int]]:
    sums = []
    for one, two in steps:
        first, second = first + one, second + two
        sums.append((first, second))
    return sums


@given(RISING, st.integers(0, 2**25), st.integers(0, 2**25))
def test_an_offset_index_answers_as_a_scan_of_its_entries(
    steps: list[tuple[int, int]], asked: int, cut: int
) -> None:
    entries = summed(steps, BASE, 0)
    index = OffsetIndex.decode(BASE, offset_index_of(*entries).encode())
    assert list(index.entries()) == entries
    for offset in (BASE + asked, *(offset for offset, _ in entries)):
        below = [entry for entry in entries if entry[0] <= offset]
        assert index.lookup(offset) == (below[-1] if below else (BASE, 0))
    index.truncate_to(BASE + cut)
    assert list(index.entries()) == [entry for entry in entries if entry[0] < BASE + cut]


@given(RISING, st.integers(0, 2**25), st.integers(0, 2**25))
def test_a_time_index_answers_as_a_scan_of_its_entries(
    steps: list[tuple[int, int]], asked: int, cut: int
) -> None:
    entries = summed(steps, 0, BASE)
    index = TimeIndex.decode(BASE, time_index_of(*entries).encode())
    assert list(index.entries()) == entries
    for timestamp in (asked, *(timestamp for timestamp, _ in entries)):
        below = [entry for entry in entries if entry[0] <= timestamp]
        assert index.lookup(timestamp) == (below[-1] if below else (NO_TIMESTAMP, BASE))
    index.truncate_to(BASE + cut)
    assert list(index.entries()) == [entry for entry in entries if entry[1] < BASE + cut]


@given(st.binary(max_size=100))
def test_any_bytes_are_read_as_an_index_that_rises(data: bytes) -> None:
    offsets = list(OffsetIndex.decode(BASE, data).entries())
    assert offsets == sorted(dict(offsets).items())
    assert data.startswith(OffsetIndex.decode(BASE, data).encode())
    times = list(TimeIndex.decode(BASE, data).entries())
    assert times == sorted(dict(times).items())
    assert data.startswith(TimeIndex.decode(BASE, data).encode())
