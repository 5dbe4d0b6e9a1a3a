"""Drives a producer against the model of the brokers."""

from ottla.client.producer import Delivery, Producer
from ottla.client.requests import ClientRequest
from ottla.client.settings import ProducerSettings
from ottla.errors import ErrorCode
from ottla.protocol.schema.produce import ProduceRequest
from ottla.records.batch import BatchHeader, read_header
from tests.unit.client.model import ModelCluster
from tests.unit.client.roles import Drive, half

EAGER = ProducerSettings(linger_ms=0)


class ProducerDrive(Drive):
    def __init__(
        self, settings: ProducerSettings = EAGER, *, partitions: int = 1, nodes: int = 1
    ) -> None:
        super().__init__(ModelCluster(nodes))
        self.model.create("t", partitions)
        self.producer = Producer(self.cluster, settings, half)
        self.role = self.producer
        self.learn("t")

    def send(self, value: bytes, partition: int | None = 0, *, key: bytes | None = None) -> int:
        return self.producer.send("t", value, self.now, key=key, partition=partition)

    def begin(self) -> None:
        """Past the first record, which goes alone."""
        self.send(b"first")
        self.run()
        assert self.delivered() == [(ErrorCode.NONE, 0)]

    def delivered(self) -> list[tuple[ErrorCode, int]]:
        return [(delivery.error, delivery.offset) for delivery in self.results()]

    def results(self) -> list[Delivery]:
        return self.producer.take_results()

    def fly(self, *values: bytes) -> list[ClientRequest]:
        """Each in a request of its own."""
        requests = []
        for value in values:
            self.send(value)
            (request,) = self.take()
            requests.append(request)
        return requests


def headers(request: ClientRequest) -> list[BatchHeader]:
    assert isinstance(request.request, ProduceRequest)
    found = []
    for topic in request.request.topic_data:
        for data in topic.partition_data:
            assert isinstance(data.records, bytes)
            found.append(read_header(data.records))
    return found


def sequence(request: ClientRequest) -> tuple[int, int, int]:
    (header,) = headers(request)
    return header.producer_id, header.producer_epoch, header.base_sequence
