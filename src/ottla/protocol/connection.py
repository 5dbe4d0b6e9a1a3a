"""The requester's end of a connection, without the connection: bytes in, responses out.

Our client, the brokers among themselves and the fetchers use it. A broker answers in the order of
the requests (that is how Kafka's clients match them too), so anything else is a broken peer.
"""

from collections import deque
from typing import Generic, NamedTuple, TypeVar, cast

import msgspec

from ottla import __version__
from ottla.errors import ErrorCode, Malformed, Refused
from ottla.protocol import apis
from ottla.protocol.compile import decode, decoder, encode, encoder
from ottla.protocol.facts import Part
from ottla.protocol.frame import FRAME_BYTES_MAX, SIZE_BYTES, frame_size
from ottla.protocol.schema.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.schema.headers import RequestHeader, ResponseHeader
from ottla.protocol.shape import message_facts

_CORRELATION_ID_MAX = 0x7FFFFFFF

Token = TypeVar("Token")


class _Awaited(NamedTuple, Generic[Token]):
    correlation_id: int
    response: type[msgspec.Struct]
    version: int
    header_version: int
    token: Token | None
    negotiation: bool


class Connection(Generic[Token]):
    """One connection's requests, each with a token of the caller's that comes back with the answer.

    Write what `hello` gives, feed what arrives to `receive`, and after each call write what
    `take_parts` gives. Once `ready`, `send` as many requests as wanted without waiting.
    """

    def __init__(self, client_id: str, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._client_id = client_id
        self._frame_bytes_max = frame_bytes_max
        self._awaited: deque[_Awaited[Token]] = deque()
        self._correlation_id = 0
        self._received = bytearray()
        self._outgoing: list[Part] = []
        self._versions: dict[int, int] | None = None

    @property
    def ready(self) -> bool:
        return self._versions is not None

    @property
    def in_flight(self) -> int:
        return len(self._awaited)

    def version(self, key: int) -> int | None:
        """The version that requests of this API take, once ready; None if there is none."""
        return (self._versions or {}).get(key)

    def hello(self) -> list[Part]:
        """Asks the peer which versions it knows, in the highest form that we know ourselves."""
        return self._ask_versions(apis.API[apis.API_VERSIONS].max_version)

    def take_parts(self) -> list[Part]:
        """What must be written before anything that is sent later."""
        parts, self._outgoing = self._outgoing, []
        return parts

    def send(
        self,
        request: msgspec.Struct,
        token: Token,
        *,
        version_max: int | None = None,
        answered: bool = True,
    ) -> list[Part]:
        """The frame of a request. One that gets no answer (acks=0) gives its token back never."""
        key = message_facts(type(request)).key
        assert key is not None
        version = self.version(key)
        if version is not None and version_max is not None:
            version = min(version, version_max)
        if version is None or version < apis.API[key].min_version:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION, f"the peer knows no {apis.API[key].name} of ours"
            )
        if not answered:
            return self._frame(request, key, version)
        return self._ask(request, key, version, token, negotiation=False)

    def receive(self, data: bytes | bytearray | memoryview) -> list[tuple[Token, msgspec.Struct]]:
        """Responses that `data` completes; their records are views of memory that they keep."""
        self._received += data
        answers = []
        while (frame := self._take_frame()) is not None:
            if not self._awaited:
                raise Malformed("an answer that nobody asked for")
            awaited = self._awaited.popleft()
            body = _body(awaited, frame)
            if awaited.negotiation:
                self._learn_versions(awaited.version, body)
            else:
                response = decode(awaited.response, awaited.version, body)
                answers.append((cast("Token", awaited.token), response))
        return answers

    def _ask(
        self,
        request: msgspec.Struct,
        key: int,
        version: int,
        token: Token | None,
        *,
        negotiation: bool,
    ) -> list[Part]:
        parts = self._frame(request, key, version)
        self._awaited.append(
            _Awaited(
                correlation_id=self._correlation_id,
                response=apis.response_type(key),
                version=version,
                header_version=apis.response_header_version(key, version),
                token=token,
                negotiation=negotiation,
            )
        )
        return parts

    def _frame(self, request: msgspec.Struct, key: int, version: int) -> list[Part]:
        parts: list[Part] = []
        encoder(type(request), version)(request, parts)
        correlation_id = self._correlation_id % _CORRELATION_ID_MAX + 1
        header = RequestHeader(key, version, correlation_id, self._client_id)
        start = encode(header, apis.request_header_version(key, version))
        size = len(start) + sum(len(part) for part in parts)
        if size > self._frame_bytes_max:
            raise Refused(ErrorCode.MESSAGE_TOO_LARGE, f"a request of {size} bytes")
        self._correlation_id = correlation_id
        return [size.to_bytes(SIZE_BYTES, "big") + start, *parts]

    def _take_frame(self) -> memoryview | None:
        if len(self._received) < SIZE_BYTES:
            return None
        with memoryview(self._received) as view:
            end = SIZE_BYTES + frame_size(view, 0, self._frame_bytes_max)
            if len(view) < end:
                return None
            frame = memoryview(bytes(view[SIZE_BYTES:end]))
        del self._received[:end]
        return frame

    def _ask_versions(self, version: int) -> list[Part]:
        request = ApiVersionsRequest(
            client_software_name="ottla", client_software_version=__version__
        )
        return self._ask(request, apis.API_VERSIONS, version, None, negotiation=True)

    def _learn_versions(self, asked: int, body: memoryview) -> None:
        """A peer that does not know our form answers in the oldest, with what it does know."""
        refusal = int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")
        known = 0 if bytes(body[:2]) == refusal else asked
        answer = decode(ApiVersionsResponse, known, body)
        ranges = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION and asked > 0:
            again = _common_version(apis.API[apis.API_VERSIONS], ranges) or 0
            self._outgoing += self._ask_versions(min(again, asked - 1))
            return
        if answer.error_code != ErrorCode.NONE:
            raise Malformed(f"the peer refuses to say its versions: {answer.error_code}")
        self._versions = {
            key: version
            for key, api in apis.API.items()
            if (version := _common_version(api, ranges)) is not None
        }


def _body(awaited: _Awaited[Token], frame: memoryview) -> memoryview:
    header, at = decoder(ResponseHeader, awaited.header_version)(frame, 0)
    if header.correlation_id != awaited.correlation_id:
        raise Malformed(f"answer {header.correlation_id} where {awaited.correlation_id} was next")
    return frame[at:]


def _common_version(api: apis.ApiInfo, ranges: dict[int, tuple[int, int]]) -> int | None:
    first, last = ranges.get(api.key, (0, -1))
    version = min(api.max_stable_version, last)
    return version if version >= max(api.min_version, first) else None
