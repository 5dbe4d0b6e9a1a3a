from ottla.protocol.compile import decode, encode
from ottla.protocol.schema.records_raft import SnapshotFooterRecord
from ottla.raft.batches import RUN_BYTES, control_batch, data_batch, read_values, runs
from ottla.records.batch import read_header
from ottla.records.control import ControlType, read_control_type
from ottla.records.record import Record, decode_batch
from ottla.records.rules import Validated
from ottla.records.validate import ProduceRules, validate_produced
from tests.unit.storage.shelf import CONFIG, Shelf, batch

WALL_MS = 1_700_000_000_000
EPOCH = 3


def stamped(batch: Validated, base_offset: int, epoch: int = EPOCH) -> bytes:
    head, rest = batch.stamped_parts(base_offset, epoch)
    return head + bytes(rest)


def control() -> Validated:
    footer = encode(SnapshotFooterRecord(), 0)
    return control_batch([(ControlType.SNAPSHOT_FOOTER, footer)], WALL_MS)


def test_a_data_batch_is_described_as_the_validation_of_its_bytes_would() -> None:
    """The log believes what it is told, whoever made the batch."""
    batch = data_batch([b"a", b"", b"ccc"], WALL_MS)

    rules = ProduceRules(batch_bytes_max=1 << 20, timestamp_after_max_ms=1 << 60)
    validated = validate_produced(memoryview(bytes(batch.batch)), rules, 12, WALL_MS)
    assert batch == validated._replace(batch=batch.batch)
    assert bytes(batch.batch) == bytes(validated.batch)


def test_records_of_a_data_batch_have_no_key_and_the_time_of_their_append() -> None:
    data = stamped(data_batch([b"a", b"b"], WALL_MS), 40)

    assert decode_batch(data) == [
        Record(40, WALL_MS, None, b"a", []),
        Record(41, WALL_MS, None, b"b", []),
    ]


def test_a_control_batch_says_what_each_of_its_records_is() -> None:
    footer = encode(SnapshotFooterRecord(), 0)
    batch = control_batch(
        [(ControlType.SNAPSHOT_FOOTER, footer), (ControlType.KRAFT_VERSION, b"v")], WALL_MS
    )

    records = decode_batch(stamped(batch, 7))
    assert [read_control_type(record.key) for record in records] == [
        ControlType.SNAPSHOT_FOOTER,
        ControlType.KRAFT_VERSION,
    ]
    assert [(record.offset, record.timestamp_ms) for record in records] == [
        (7, WALL_MS),
        (8, WALL_MS),
    ]
    assert decode(SnapshotFooterRecord, 0, records[0].value or b"") == SnapshotFooterRecord()
    assert (batch.record_count, batch.last_offset_delta) == (2, 1)
    assert read_header(bytes(batch.batch)).is_control


def test_values_are_read_with_their_offsets_and_without_control_batches() -> None:
    data = (
        stamped(data_batch([b"a", b"b"], WALL_MS), 5)
        + stamped(control(), 7)
        + stamped(data_batch([b"c"], WALL_MS + 9), 8, EPOCH + 1)
        + stamped(control(), 9)
    )

    assert [
        (header.base_offset, header.partition_leader_epoch, offset, value)
        for header, offset, value in read_values(data)
    ] == [(5, 3, 5, b"a"), (5, 3, 6, b"b"), (8, 4, 8, b"c")]


def test_of_nothing_nothing_is_read() -> None:
    assert list(read_values(b"")) == []
    assert list(read_values(stamped(control(), 0))) == []


def read_from(shelf: Shelf, offset: int) -> list[bytes]:
    segment = shelf.log.active
    return shelf.disk.run(shelf.disk.begin_boot(), lambda disk: list(runs(disk, segment, offset)))


def test_batches_of_a_segment_are_read_from_an_offset_on_however_long_they_are() -> None:
    shelf = Shelf(config=CONFIG._replace(segment_bytes=1 << 30))
    for size in (10, 10, 10, 700_000, 10, 3 * RUN_BYTES, 10):
        shelf.append(batch(2, b"x" * (size // 2)))
    kept = [each.data for each in shelf.kept]
    for at, each in enumerate(shelf.kept):
        found = read_from(shelf, each.base_offset)
        assert b"".join(found) == b"".join(kept[at:])
        assert max(map(len, found)) <= 3 * RUN_BYTES + 200
    assert read_from(shelf, shelf.log.end_offset) == []
