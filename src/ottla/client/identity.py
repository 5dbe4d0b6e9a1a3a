"""Asking the brokers for a producer id (KIP-98)."""

import msgspec

from ottla.client.batches import Identity
from ottla.client.cluster import error_code
from ottla.client.requests import ANY_NODE, Backoff, ClientRequest
from ottla.errors import RETRIABLE, ErrorCode
from ottla.protocol.schema.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

TRANSACTION_TIMEOUT_MS = 2**31 - 1


class IdentitySource:
    """`identity` is the latest one; `want` asks for another."""

    def __init__(self, backoff: Backoff, request_timeout_ms: int) -> None:
        self.identity = Identity()
        self.token: int | None = None
        self._backoff = backoff
        self._request_timeout_ms = request_timeout_ms
        self._is_wanted = False
        self._failures = 0
        self._ask_at_ms = 0

    def want(self) -> None:
        self._is_wanted = True

    def poll(self, token: int, mono_ms: int) -> list[ClientRequest]:
        if not self._is_wanted or self.token is not None or mono_ms < self._ask_at_ms:
            return []
        self.token = token
        request = InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
        )
        return [ClientRequest(ANY_NODE, token, request, self._request_timeout_ms)]

    def on_response(self, response: msgspec.Struct | None, mono_ms: int) -> ErrorCode | None:
        """An error that no further attempt will mend."""
        assert isinstance(response, InitProducerIdResponse)
        code = error_code(response.error_code)
        if code in RETRIABLE:
            self.on_lost(mono_ms)
            return None
        self._settle()
        if code != ErrorCode.NONE:
            return code
        self.identity = Identity(response.producer_id, response.producer_epoch)
        return None

    def on_lost(self, mono_ms: int) -> None:
        self.token = None
        self._failures += 1
        self._ask_at_ms = mono_ms + self._backoff.delay_ms(self._failures)

    def on_refused(self) -> None:
        self._settle()

    def next_deadline_ms(self) -> int | None:
        return self._ask_at_ms if self._is_wanted and self.token is None else None

    def _settle(self) -> None:
        self.token = None
        self._is_wanted = False
        self._failures = 0
