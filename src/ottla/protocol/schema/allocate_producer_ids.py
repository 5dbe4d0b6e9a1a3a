"""AllocateProducerIds, API key 67."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, int16, int32, int64


class AllocateProducerIdsRequest(Struct, gc=False):
    """A broker asks the controller for a block of producer ids."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0", flexible="0+", key=67, listeners=("controller",)
    )

    broker_id: Annotated[int32, Wire("0+")] = 0
    broker_epoch: Annotated[int64, Wire("0+")] = -1


class AllocateProducerIdsResponse(Struct, gc=False):
    """The block: its first id and how many follow."""

    WIRE: ClassVar[Message] = Message("response", versions="0", flexible="0+", key=67)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    producer_id_start: Annotated[int64, Wire("0+")] = 0
    producer_id_len: Annotated[int32, Wire("0+")] = 0
