"""Webhooks that the run does not wait for: one thread for each hook, so that its notices keep their order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from tidegate.hooks.payload import Payload

__all__ = ["Background"]

_MOST_WAITING = 1000


class Background:
    """`deliver` is called for one payload after the other, in a thread that does not keep the process from ending."""

    def __init__(self, deliver: Callable[[Payload], None]) -> None:
        self._deliver = deliver
        self._waiting: deque[Payload] = deque()
        self._changed = threading.Condition()
        self._busy = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def put(self, payload: Payload) -> bool:
        """False: too many are waiting already, and this one is not taken."""
        with self._changed:
            if self._closed or len(self._waiting) >= _MOST_WAITING:
                return False
            self._waiting.append(payload)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="async-webhook", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return True

    def drain(self, seconds: float) -> int:
        """Wait until all are delivered, but no longer. How many are left; they are given up, as is all that follows."""
        with self._changed:
            if self._closed:
                return 0
            self._changed.wait_for(lambda: not self._waiting and not self._busy, seconds)
            left = len(self._waiting) + self._busy
        if left:
            self.close()
        return left

    def close(self) -> None:
        """What still waits is forgotten."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                payload = self._waiting.popleft()
                self._busy = True
            try:
                self._deliver(payload)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
