"""What goes wrong for a user of the client, in words that say where and why."""

from ottla.errors import ErrorCode


class ClientError(Exception):
    """`api` is what was asked, `why` names the broker where one is known.

    `code` is the broker's answer, or the code that comes nearest where no broker answered.
    """

    def __init__(
        self, api: str, why: str, code: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR
    ) -> None:
        super().__init__(f"{api}: {why} [{code.name}]")
        self.api = api
        self.why = why
        self.code = code


class BufferFull(ClientError):
    """The producer holds as much as it may: wait until some of it is delivered."""

    def __init__(self, buffered_bytes: int, buffer_bytes_max: int) -> None:
        why = f"{buffered_bytes} of {buffer_bytes_max} bytes wait to be delivered"
        super().__init__("Produce", why, ErrorCode.REQUEST_TIMED_OUT)
