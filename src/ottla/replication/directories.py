"""One thing at a time for a log's directory: it is made, used, taken away, and perhaps made again.

Jobs run in several threads. A topic that is made anew under the name of a deleted one must find its
directories gone, and one that is deleted while its files are being made must not leave any behind.
"""

from collections import deque
from collections.abc import Callable

from ottla.names import Now

Action = Callable[[Now], None]


class Directories:
    def __init__(self) -> None:
        # Directories with work under way, and who comes next.
        self._queues: dict[str, deque[Action]] = {}

    def enter(self, directory: str, action: Action, now: Now) -> None:
        """Run `action` when the directory is free; from then on until `leave` it is not."""
        queue = self._queues.get(directory)
        if queue is None:
            self._queues[directory] = deque()
            action(now)
        else:
            queue.append(action)

    def leave(self, directory: str, now: Now) -> None:
        queue = self._queues[directory]
        if queue:
            queue.popleft()(now)
        else:
            del self._queues[directory]
