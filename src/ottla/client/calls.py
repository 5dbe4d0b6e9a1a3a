"""Single requests, such as the creation of a topic: asked again until answered or too late."""

from typing import NamedTuple

import msgspec

from ottla.client.requests import ANY_NODE, Backoff, ClientRequest, Random, earliest
from ottla.client.settings import ClientSettings
from ottla.names import Now


class CallResult(NamedTuple):
    call_id: int
    response: msgspec.Struct | None
    why: str = ""
    maybe_done: bool = False


class _Call:
    __slots__ = ("ask_at_ms", "attempts", "attempts_max", "deadline_ms", "is_asked", "request")

    def __init__(self, request: msgspec.Struct, deadline_ms: int, attempts_max: int | None) -> None:
        self.request = request
        self.deadline_ms = deadline_ms
        self.attempts_max = attempts_max
        self.attempts = 0
        self.ask_at_ms = 0
        self.is_asked = False


class Calls:
    def __init__(self, settings: ClientSettings, random: Random) -> None:
        self._settings = settings
        self._backoff = Backoff(settings.backoff, random)
        self._calls: dict[int, _Call] = {}
        # Calls that change something must not be done twice.
        self._once: dict[int, None] = {}
        self._results: list[CallResult] = []
        self._call_id = 0
        self._polled_ms = -1

    def call(
        self,
        request: msgspec.Struct,
        now: Now,
        *,
        once: bool = False,
        attempts_max: int | None = None,
    ) -> int:
        """With `once` it is not asked again after it may have been done."""
        self._call_id += 1
        deadline_ms = now.mono_ms + self._settings.call_timeout_ms
        self._calls[self._call_id] = _Call(request, deadline_ms, attempts_max)
        if once:
            self._once[self._call_id] = None
        return self._call_id

    def take_results(self) -> list[CallResult]:
        results, self._results = self._results, []
        return results

    # The role of asking

    def poll(self, now: Now) -> list[ClientRequest]:
        self._polled_ms = now.mono_ms
        requests = []
        for call_id, call in self._calls.items():
            if not call.is_asked and call.ask_at_ms <= now.mono_ms:
                call.is_asked = True
                left_ms = max(1, call.deadline_ms - now.mono_ms)
                timeout_ms = min(self._settings.request_timeout_ms, left_ms)
                requests.append(ClientRequest(ANY_NODE, call_id, call.request, timeout_ms))
        return requests

    def on_response(self, token: int, response: msgspec.Struct | None, now: Now) -> None:
        self._end(CallResult(token, response))

    def on_lost(self, token: int, why: str, was_sent: bool, now: Now) -> None:
        call = self._calls[token]
        call.attempts += 1
        maybe_done = was_sent and token in self._once
        is_last = call.attempts_max is not None and call.attempts >= call.attempts_max
        if maybe_done or is_last or now.mono_ms >= call.deadline_ms:
            self._end(CallResult(token, None, why, maybe_done))
            return
        call.is_asked = False
        delay_ms = self._backoff.delay_ms(call.attempts)
        call.ask_at_ms = min(now.mono_ms + delay_ms, call.deadline_ms)

    def on_refused(self, token: int, why: str, now: Now) -> None:
        self._end(CallResult(token, None, why))

    def next_deadline_ms(self) -> int | None:
        waiting = [call.ask_at_ms for call in self._calls.values() if not call.is_asked]
        return earliest([*waiting], self._polled_ms)

    def _end(self, result: CallResult) -> None:
        del self._calls[result.call_id]
        self._once.pop(result.call_id, None)
        self._results.append(result)
