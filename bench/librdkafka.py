"""A load generator of `bench.generator`'s kind: librdkafka as people use it, batching by itself."""

import argparse
import json
import sys
import time

from confluent_kafka import KafkaException, Producer

POLL_EVERY = 1000
FLUSH_TIMEOUT_S = 60


def settings(bootstrap: str) -> dict[str, str | int | bool]:
    """librdkafka's defaults, acks=all among them; successes are counted, not called back."""
    return {
        "bootstrap.servers": bootstrap,
        "delivery.report.only.error": True,
        "queue.buffering.max.messages": 1_000_000,
        "log_level": 3,
    }


def produce(producer: Producer, topic: str, value: bytes, secs: float) -> int:
    sent = 0
    deadline = time.monotonic() + secs
    while time.monotonic() < deadline:
        for _ in range(POLL_EVERY):
            try:
                producer.produce(topic, value)
            except BufferError:
                producer.poll(0.01)
                break
            sent += 1
        producer.poll(0)
    return sent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--secs", type=float, required=True)
    options = parser.parse_args()
    failures: list[str] = []

    def on_delivery(error: object, _message: object) -> None:
        if error is not None:
            failures.append(str(error))

    producer = Producer(settings(options.bootstrap) | {"on_delivery": on_delivery})
    value = b"x" * options.size
    try:
        producer.list_topics(options.topic, timeout=10)
        producer.produce(options.topic, value)  # connects, and learns the leaders
        left = producer.flush(FLUSH_TIMEOUT_S)
        print(json.dumps({"event": "ready"}), flush=True)
        sys.stdin.readline()
        start = time.monotonic()
        sent = produce(producer, options.topic, value, options.secs)
        left += producer.flush(FLUSH_TIMEOUT_S)
    except KafkaException as trouble:
        print(trouble, file=sys.stderr)
        return 1
    seconds = time.monotonic() - start
    if left or failures:
        why = failures[0] if failures else "not acknowledged in time"
        print(f"{left + len(failures)} records failed: {why}", file=sys.stderr)
        return 1
    print(json.dumps({"records": sent, "seconds": seconds, "per_s": sent / seconds}), flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
