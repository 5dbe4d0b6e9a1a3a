"""What the stock clients write and must read again, and what stands in the log of it."""

from pathlib import Path
from typing import NamedTuple

from ottla.records.batch import BatchHeader, read_header

FIRST_MS = 1_790_000_000_000
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
PATIENCE_S = 30.0


class Sample(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp_ms: int


def samples(count: int) -> list[Sample]:
    """Every mixture of null, empty and filled keys, values and headers, over and over."""
    keys = (b"key-%d", None, b"")
    values = (b"value-%d" + b" and more of it" * 8, b"%d", None, b"")
    headers: tuple[list[tuple[str, bytes | None]], ...] = (
        [],
        [("one", b"1"), ("two", None), ("", b"no name"), ("one", b"again")],
    )
    return [
        Sample(
            _filled(keys[number % 3], number),
            _filled(values[number % 4], number),
            headers[number % 2],
            FIRST_MS + number,
        )
        for number in range(count)
    ]


def wide_samples(count: int) -> list[Sample]:
    """Each worth compressing in a batch of its own: clients leave one plain that would grow."""
    return [
        sample._replace(value=b"%d" % number + b" and more of it" * 20)
        for number, sample in enumerate(filled_samples(count))
    ]


def filled_samples(count: int) -> list[Sample]:
    """For clients that write no record with neither key nor value, and no header without one."""
    return [
        sample._replace(
            value=b"" if sample.key is None and sample.value is None else sample.value,
            headers=[header for header in sample.headers if header[1] is not None],
        )
        for sample in samples(count)
    ]


def _filled(form: bytes | None, number: int) -> bytes | None:
    return form % number if form and b"%" in form else form


def batches(data: Path, topic: str, partition: int = 0) -> list[BatchHeader]:
    """The headers of a partition's batches, as they stand in its files."""
    found = []
    for segment in sorted((data / f"{topic}-{partition}").glob("*.log")):
        log = segment.read_bytes()
        at = 0
        while at < len(log):
            found.append(read_header(log, at))
            at += found[-1].size
    return found
