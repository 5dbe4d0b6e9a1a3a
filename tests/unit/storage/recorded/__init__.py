"""What Apache Kafka 4.3 said (record.py asked it), and in `kafka-4.3` files of a stopped broker."""

from pathlib import Path

HERE = Path(__file__).parent


def operations(table: str) -> list[tuple[list[str], list[str]]]:
    """Operations of a recorded table, and the words of what Kafka answered to each."""
    lines = (HERE / f"{table}.txt").read_text().splitlines()
    pairs = (line.split(" -> ") for line in lines)
    return [(operation.split(), said.split()) for operation, said in pairs]


def file_of_kafka(name: str) -> bytes:
    return (HERE / "kafka-4.3" / name).read_bytes()
