"""Records of `__share_group_state`."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.names import NO_UUID
from ottla.protocol.facts import Message, Wire, int8, int16, int32, int64, string, uuid


class ShareSnapshotKey(Struct, gc=False):
    """The whole state of a share partition."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=0)

    group_id: Annotated[string, Wire("0")] = ""
    topic_id: Annotated[uuid, Wire("0")] = NO_UUID
    partition: Annotated[int32, Wire("0")] = 0


class ShareUpdateKey(Struct, gc=False):
    """A change to the state of a share partition."""

    WIRE: ClassVar[Message] = Message("coordinator-key", versions="0", flexible="none", key=1)

    group_id: Annotated[string, Wire("0")] = ""
    topic_id: Annotated[uuid, Wire("0")] = NO_UUID
    partition: Annotated[int32, Wire("0")] = 0


class ShareSnapshotValueStateBatch(Struct, gc=False):
    first_offset: Annotated[int64, Wire("0+")] = 0
    last_offset: Annotated[int64, Wire("0+")] = 0
    delivery_state: Annotated[int8, Wire("0+")] = 0
    delivery_count: Annotated[int16, Wire("0+")] = 0


class ShareSnapshotValue(Struct, gc=False):
    """The start offset, epochs, and states of the records after it."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=0)

    snapshot_epoch: Annotated[int32, Wire("0+")] = 0
    state_epoch: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    start_offset: Annotated[int64, Wire("0+")] = 0
    delivery_complete_count: Annotated[int32, Wire("0+", tag=0)] = -1
    create_timestamp: Annotated[int64, Wire("0+")] = 0
    write_timestamp: Annotated[int64, Wire("0+")] = 0
    state_batches: Annotated[list[ShareSnapshotValueStateBatch], Wire("0+")] = []


class ShareUpdateValueStateBatch(Struct, gc=False):
    first_offset: Annotated[int64, Wire("0+")] = 0
    last_offset: Annotated[int64, Wire("0+")] = 0
    delivery_state: Annotated[int8, Wire("0+")] = 0
    delivery_count: Annotated[int16, Wire("0+")] = 0


class ShareUpdateValue(Struct, gc=False):
    """What changed since the last snapshot or update."""

    WIRE: ClassVar[Message] = Message("coordinator-value", versions="0", flexible="0+", key=1)

    snapshot_epoch: Annotated[int32, Wire("0+")] = 0
    leader_epoch: Annotated[int32, Wire("0+")] = 0
    start_offset: Annotated[int64, Wire("0+")] = 0
    delivery_complete_count: Annotated[int32, Wire("0+", tag=0)] = -1
    state_batches: Annotated[list[ShareUpdateValueStateBatch], Wire("0+")] = []
