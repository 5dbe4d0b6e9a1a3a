"""Murmur2 against what Kafka 4.3's own `Utils.murmur2` answers."""

import pytest

from ottla.client.murmur2 import murmur2, partition_for_key

# (text, Java's signed answer, its partition of twelve)
RECORDED = [
    ("", 275646681, 9),
    ("a", -1563381124, 4),
    ("ab", 316155434, 2),
    ("abc", 479470107, 3),
    ("21", -973932308, 0),
    ("foobar", -790332482, 6),
    ("a-little-bit-long-string", -985981536, 8),
    ("a-little-bit-longer-string", -1486304829, 11),
    ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971, 5),
    ("\u00ff\u20ac", 22900425, 9),
]


def signed(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


@pytest.mark.parametrize(("text", "number", "partition"), RECORDED)
def test_keys_hash_as_in_java(text: str, number: int, partition: int) -> None:
    assert signed(murmur2(text.encode())) == number
    assert partition_for_key(text.encode(), 12) == partition


def test_every_length_of_tail_hashes_as_in_java() -> None:
    data = bytes(index * 7 & 255 for index in range(300))
    assert sum(signed(murmur2(data[:size])) for size in range(301)) == 3230352021
