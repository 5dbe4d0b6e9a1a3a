"""AlterPartition, API key 56."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int8, int16, int32, int64, uuid


class BrokerState(Struct, gc=False):
    broker_id: Annotated[int32, Wire("3+")] = 0
    broker_epoch: Annotated[int64, Wire("3+")] = -1


class AlterPartitionRequestPartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    new_isr: Annotated[list[int32], Wire("0-2")] = []
    new_isr_with_epochs: Annotated[list[BrokerState], Wire("3+")] = []
    leader_recovery_state: Annotated[int8, Wire("1+")] = 0
    partition_epoch: Annotated[int32, Wire("0+")] = 0


class AlterPartitionRequestTopicData(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("2+", ignorable=True)] = NO_UUID
    partitions: Annotated[list[AlterPartitionRequestPartitionData], Wire("0+")] = []


class AlterPartitionRequest(Struct, gc=False):
    """A leader proposes a new ISR to the controller."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="2-3", flexible="0+", key=56, listeners=("controller",)
    )

    broker_id: Annotated[int32, Wire("0+")] = 0
    broker_epoch: Annotated[int64, Wire("0+")] = -1
    topics: Annotated[list[AlterPartitionRequestTopicData], Wire("0+")] = []


class AlterPartitionResponsePartitionData(Struct, gc=False):
    partition_index: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    leader_id: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    isr: Annotated[list[int32], Wire("0+")] = []
    leader_recovery_state: Annotated[int8, Wire("1+", ignorable=True)] = 0
    partition_epoch: Annotated[int32, Wire("0+")] = 0


class AlterPartitionResponseTopicData(Struct, gc=False):
    topic_id: Annotated[uuid, Wire("2+", ignorable=True)] = NO_UUID
    partitions: Annotated[list[AlterPartitionResponsePartitionData], Wire("0+")] = []


class AlterPartitionResponse(Struct, gc=False):
    """The partition state that holds after the proposal, accepted or not."""

    WIRE: ClassVar[Message] = Message("response", versions="2-3", flexible="0+", key=56)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    topics: Annotated[list[AlterPartitionResponseTopicData], Wire("0+")] = []
