"""What the record classes of Apache Kafka 4.3 said (record.py asked them)."""

from pathlib import Path

HERE = Path(__file__).parent


def operations(table: str) -> list[tuple[list[str], list[str]]]:
    """Operations of a recorded table, and the words of what Kafka answered to each."""
    lines = (HERE / f"{table}.txt").read_text().splitlines()
    pairs = (line.split(" -> ") for line in lines)
    return [(operation.split(), said.split()) for operation, said in pairs]


def bytes_of(word: str) -> bytes | None:
    if word == "null":
        return None
    return b"" if word == "empty" else bytes.fromhex(word)


def word_of(content: bytes | None) -> str:
    if content is None:
        return "null"
    return content.hex() or "empty"
