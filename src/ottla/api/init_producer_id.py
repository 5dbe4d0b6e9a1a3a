"""InitProducerId: an id for an idempotent producer, out of blocks that the controller grants."""

from ottla.broker.node import Node
from ottla.broker.parked import Parked
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode, Refused
from ottla.names import Now, ProducerId
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


def handle(
    node: Node, call: Call, request: InitProducerIdRequest
) -> Parked | InitProducerIdResponse:
    if request.transactional_id is not None:
        # Transactions come with the next step; the coordinator is not there yet.
        return _refused(
            ErrorCode.INVALID_REQUEST
            if not request.transactional_id
            else ErrorCode.COORDINATOR_NOT_AVAILABLE
        )
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return _refused(ErrorCode.INVALID_REQUEST)
    granted = node.producer_ids.take()
    if granted is not None:
        return _granted(granted)

    def retry(parked: Parked, now: Now) -> InitProducerIdResponse | None:
        if node.is_storage_offline:
            return _refused(ErrorCode.KAFKA_STORAGE_ERROR)
        late = node.producer_ids.take()
        return _ask(node, parked) if late is None else _granted(late)

    parked = Parked(call, retry)
    return _ask(node, parked) or parked


def _ask(node: Node, parked: Parked) -> InitProducerIdResponse | None:
    try:
        node.producer_ids.ask_for_more(parked)
    except Refused as refused:
        return _refused(refused.code)
    return None


def _granted(producer_id: ProducerId) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
