"""InitProducerId: an id for an idempotent producer, out of blocks that the controller grants."""

from ottla.broker.node import Node
from ottla.broker.parked import Parked
from ottla.broker.pipeline import Call
from ottla.errors import ErrorCode
from ottla.names import Now
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
        return InitProducerIdResponse(producer_id=granted, producer_epoch=0)

    def retry(parked: Parked, now: Now) -> InitProducerIdResponse | None:
        late = node.producer_ids.take()
        if late is None:
            node.producer_ids.ask_for_more(parked)
            return None
        return InitProducerIdResponse(producer_id=late, producer_epoch=0)

    parked = Parked(call, retry)
    node.producer_ids.ask_for_more(parked)
    return parked


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
