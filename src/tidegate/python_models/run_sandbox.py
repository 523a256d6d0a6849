"""The sandbox of one run: nothing of it is there before something is to be run in it."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from tidegate.config import Settings
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.python_models.sandbox.sandbox import Sandbox

__all__ = ["RunSandbox"]


class RunSandbox:
    """Thread-safe. Where it does not start, only those who use it fail."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._sandbox: Sandbox | None = None

    def get(self) -> Sandbox:
        from tidegate.python_models.sandbox.sandbox import Sandbox  # most projects have nothing to run in it

        with self._lock:
            if self._sandbox is None:
                self._sandbox = Sandbox(self._settings.sandbox, self._settings.root / ".tidegate" / "sandbox")
            return self._sandbox

    def start(self) -> None:
        """Returns at once: it is ready when it is used."""
        with suppress(TidegateError):  # who uses it gets the same error
            self.get().start()

    def close(self) -> None:
        """Ends all that it started; it must be called whatever happens."""
        with self._lock:
            if self._sandbox is not None:
                self._sandbox.close()
