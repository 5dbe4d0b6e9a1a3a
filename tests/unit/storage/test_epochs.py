import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.storage.checkpoints import CorruptCheckpoint
from ottla.storage.epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET, LeaderEpochs
from tests.unit.storage.recorded import file_of_kafka, operations


def epochs_of(*entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for epoch, start_offset in entries:
        epochs.assign(epoch, start_offset)
    return epochs


def said_by_ours(epochs: LeaderEpochs, operation: list[str]) -> str:
    name, *words = operation
    numbers = [int(word) for word in words]
    match name:
        case "assign":
            epochs.assign(*numbers)
        case "end":
            epochs.truncate_from_end(*numbers)
        case "start":
            epochs.truncate_from_start(*numbers)
        case "endOffsetFor":
            epoch, end_offset = epochs.end_offset_for(*numbers)
            return f"{epoch} {end_offset}"
        case "epochFor":
            return str(epochs.epoch_for_offset(*numbers))
        case "previous":
            return f"{epochs.latest_epoch} {epochs.previous_epoch}"
        case "startOf":
            return str(epochs.start_offset_of(*numbers))
    return ",".join(epochs.encode().decode().splitlines())


def test_recorded_assignments_truncations_and_lookups_end_as_in_kafka() -> None:
    epochs = LeaderEpochs()
    written = ""
    for number, (operation, words) in enumerate(operations("epochs")):
        said = " ".join(words)
        if operation == ["epochs"]:
            epochs, written = LeaderEpochs(), ""
            continue
        ours = said_by_ours(epochs, operation)
        if operation[0] in ("assign", "end", "start"):
            # Kafka's file is empty until its first change, and written at changes alone.
            assert epochs.take_dirty() == (said != written), f"operation {number}: {operation}"
            ours, written = ours if said else "", said
        assert ours == said, f"operation {number}: {operation}"


def test_a_checkpoint_of_kafka_is_read_and_written_back_byte_for_byte() -> None:
    recorded = file_of_kafka("leader-epoch-checkpoint")
    epochs = LeaderEpochs.decode(recorded)
    assert epochs.entries() == [(0, 0), (2, 120)]
    assert not epochs.dirty
    assert epochs.encode() == recorded


@pytest.mark.parametrize("data", [b"", b"0\n", b"0\n0\n"])
def test_a_checkpoint_without_entries_is_an_empty_cache(data: bytes) -> None:
    assert LeaderEpochs.decode(data).entries() == []


@pytest.mark.parametrize(
    "data",
    [
        *(b"1\n0\n", b"x\n0\n", b"0\n1\n", b"0\n1\n1 2\n3 4\n", b"0\n1\n1\n", b"0\n1\n1 2 3\n"),
        *(b"0\n1\n-1 2\n", b"0\n1\n1 -2\n", b"0\n1\n1 9223372036854775808\n", b"\xff\n0\n"),
    ],
)
def test_a_bad_checkpoint_is_called_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptCheckpoint):
        LeaderEpochs.decode(data)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (UNDEFINED_EPOCH, (UNDEFINED_EPOCH, UNDEFINED_OFFSET)),
        (1, (1, 10)),
        (2, (2, 20)),
        (3, (2, 20)),
        (5, (5, 99)),
        (6, (UNDEFINED_EPOCH, UNDEFINED_OFFSET)),
    ],
)
def test_an_epoch_ends_where_the_next_known_one_begins(asked: int, answer: tuple[int, int]) -> None:
    assert epochs_of((2, 10), (5, 20)).end_offset_for(asked, 99) == answer


def test_without_any_epoch_every_answer_is_undefined() -> None:
    epochs = LeaderEpochs()
    assert epochs.end_offset_for(0, 10) == (UNDEFINED_EPOCH, UNDEFINED_OFFSET)
    assert epochs.end_offset_for(UNDEFINED_EPOCH, 10) == (UNDEFINED_EPOCH, UNDEFINED_OFFSET)
    assert epochs.latest_epoch == epochs.previous_epoch == UNDEFINED_EPOCH
    assert epochs.epoch_for_offset(0) == UNDEFINED_EPOCH


def test_only_a_change_makes_it_dirty() -> None:
    epochs = epochs_of((1, 0), (2, 10))
    assert epochs.take_dirty()
    epochs.assign(2, 15)
    epochs.truncate_from_end(11)
    epochs.truncate_from_start(0)
    assert not epochs.take_dirty()
    epochs.truncate_from_start(3)
    assert epochs.take_dirty()
    assert epochs.entries() == [(1, 3), (2, 10)]


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 30)), max_size=20))
def test_epochs_and_offsets_rise_together_whatever_was_assigned(
    assigned: list[tuple[int, int]],
) -> None:
    epochs = epochs_of(*assigned)
    entries = epochs.entries()
    assert entries == sorted(dict(entries).items())
    assert len(dict.fromkeys(start for _, start in entries)) == len(entries) == len(epochs)
    assert LeaderEpochs.decode(epochs.encode()).entries() == entries
    for offset in range(32):
        holding = [epoch for epoch, start in entries if start <= offset]
        assert epochs.epoch_for_offset(offset) == (holding[-1] if holding else UNDEFINED_EPOCH)
