"""BrokerHeartbeat, API key 63."""

from typing import Annotated, ClassVar

from msgspec import Struct

from ottla.protocol.facts import Message, Wire, boolean, int16, int32, int64, uuid


class BrokerHeartbeatRequest(Struct, gc=False):
    """A broker says that it lives, and asks to be unfenced or to shut down."""

    WIRE: ClassVar[Message] = Message(
        "request", versions="0-2", flexible="0+", key=63, listeners=("controller",)
    )

    broker_id: Annotated[int32, Wire("0+")] = 0
    broker_epoch: Annotated[int64, Wire("0+")] = -1
    current_metadata_offset: Annotated[int64, Wire("0+")] = 0
    want_fence: Annotated[boolean, Wire("0+")] = False
    want_shut_down: Annotated[boolean, Wire("0+")] = False
    offline_log_dirs: Annotated[list[uuid], Wire("1+", tag=0)] = []
    cordoned_log_dirs: Annotated[list[uuid] | None, Wire("2+", nullable="2+", tag=1)] = None


class BrokerHeartbeatResponse(Struct, gc=False):
    """How the controller sees the broker: caught up, fenced, free to stop."""

    WIRE: ClassVar[Message] = Message("response", versions="0-2", flexible="0+", key=63)

    throttle_time_ms: Annotated[int32, Wire("0+")] = 0
    error_code: Annotated[int16, Wire("0+")] = 0
    is_caught_up: Annotated[boolean, Wire("0+")] = False
    is_fenced: Annotated[boolean, Wire("0+")] = True
    should_shut_down: Annotated[boolean, Wire("0+")] = False
