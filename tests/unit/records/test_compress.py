import contextlib
import random
import struct
import zlib

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ottla.records.batch import CorruptBatch
from ottla.records.compress import Codec, TooLarge, compress, decompress

CODECS = [codec for codec in Codec if codec]
MIXED = random.Random(1).randbytes(3000) + b"a long run of text " * 9000


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"x", MIXED])
def test_what_is_compressed_comes_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), len(data)) == data
    assert decompress(codec, memoryview(compress(codec, memoryview(data))), len(data)) == data


@pytest.mark.parametrize(("codec", "level"), [(Codec.GZIP, 9), (Codec.LZ4, 9), (Codec.ZSTD, 19)])
def test_a_level_makes_a_difference_in_size_alone(codec: Codec, level: int) -> None:
    harder = compress(codec, MIXED, level)
    assert harder != compress(codec, MIXED)
    assert decompress(codec, harder, len(MIXED)) == MIXED


@pytest.mark.parametrize("codec", list(Codec))
def test_one_byte_over_the_cap_is_too_large(codec: Codec) -> None:
    with pytest.raises(TooLarge):
        decompress(codec, compress(codec, MIXED), len(MIXED) - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_whatever_is_cut_short_is_corrupt_or_shorter(codec: Codec) -> None:
    whole = compress(codec, MIXED)
    for cut in (0, 1, 3, 7, 15, 17, 20, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        try:
            assert len(decompress(codec, whole[:cut], len(MIXED))) < len(MIXED)
        except CorruptBatch:
            continue
    with pytest.raises(CorruptBatch):
        decompress(codec, whole[: len(whole) // 2], len(MIXED))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.ZSTD])
def test_joined_streams_are_read_one_after_the_other(codec: Codec) -> None:
    joined = compress(codec, MIXED) + compress(codec, b"and more")
    assert decompress(codec, joined, len(MIXED) + 8) == MIXED + b"and more"
    with pytest.raises(TooLarge):
        decompress(codec, joined, len(MIXED) + 7)


def test_of_joined_lz4_frames_the_first_is_read_as_kafka_does() -> None:
    joined = compress(Codec.LZ4, MIXED) + compress(Codec.LZ4, b"and more")
    assert decompress(Codec.LZ4, joined, len(MIXED)) == MIXED


def test_lz4_blocks_that_depend_on_each_other_no_java_client_reads() -> None:
    with pytest.raises(CorruptBatch):
        decompress(Codec.LZ4, lz4.frame.compress(MIXED, block_linked=True), len(MIXED))


@pytest.mark.parametrize("store_size", [True, False])
def test_lz4_with_and_without_its_size_is_read(store_size: bool) -> None:
    frame = lz4.frame.compress(MIXED, block_linked=False, store_size=store_size)
    assert decompress(Codec.LZ4, frame, len(MIXED)) == MIXED


def test_zstd_without_its_size_is_read() -> None:
    stream = zstandard.ZstdCompressor().compressobj()
    frame = stream.compress(MIXED) + stream.flush()
    assert decompress(Codec.ZSTD, frame, len(MIXED)) == MIXED


def test_zstd_goes_on_after_a_frame_that_was_refused() -> None:
    good, cut = compress(Codec.ZSTD, MIXED), compress(Codec.ZSTD, MIXED)[:-5]
    for bad in (cut, b"no frame", good + b"junk"):
        with pytest.raises(CorruptBatch):
            decompress(Codec.ZSTD, bad, len(MIXED))
        assert decompress(Codec.ZSTD, good, len(MIXED)) == MIXED


def test_a_bare_snappy_block_is_read_as_librdkafka_sends_it() -> None:
    block = bytes(cramjam.snappy.compress_raw(MIXED))
    assert decompress(Codec.SNAPPY, block, len(MIXED)) == MIXED


def test_snappy_is_written_in_the_chunks_that_javas_library_reads() -> None:
    stream = compress(Codec.SNAPPY, MIXED)
    assert stream[:16] == b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    (size,) = struct.unpack_from(">i", stream, 16)
    assert cramjam.snappy.decompress_raw_len(stream[20 : 20 + size]) == 32 * 1024


def test_behind_the_last_gzip_member_anything_may_stand() -> None:
    assert decompress(Codec.GZIP, compress(Codec.GZIP, b"data") + b"junk", 4) == b"data"


def test_gzip_needs_its_wrapping() -> None:
    with pytest.raises(CorruptBatch):
        decompress(Codec.GZIP, zlib.compress(b"data"), 100)


@pytest.mark.parametrize("codec", [5, 6, 7, -1])
def test_an_unknown_codec_is_corrupt(codec: int) -> None:
    with pytest.raises(CorruptBatch):
        decompress(codec, b"data", 100)


@given(codec=st.sampled_from(CODECS), data=st.binary(max_size=200))
def test_any_bytes_are_data_or_corrupt_or_too_large(codec: Codec, data: bytes) -> None:
    with contextlib.suppress(CorruptBatch, TooLarge):
        assert len(decompress(codec, data, 1000)) <= 1000


@given(
    codec=st.sampled_from(CODECS),
    flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=3),
)
def test_flipped_bytes_are_data_or_corrupt_or_too_large(
    codec: Codec, flips: list[tuple[int, int]]
) -> None:
    stream = bytearray(compress(codec, MIXED[:400] * 3))
    for at, bits in flips:
        stream[at % len(stream)] ^= bits
    with contextlib.suppress(CorruptBatch, TooLarge):
        assert len(decompress(codec, stream, 2000)) <= 2000
