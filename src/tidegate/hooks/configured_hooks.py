"""The listener of a run that has hooks, a callback or a budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict

from tidegate.config import Settings
from tidegate.errors import HookError
from tidegate.hooks.budget import Breach, Budget
from tidegate.hooks.events import Emit, Ending, Event
from tidegate.hooks.hook_dispatch import HookDispatcher
from tidegate.hooks.posting import send_callback
from tidegate.hooks.run_hooks import STOPPABLE_EVENTS, Halt

__all__ = ["ConfiguredHooks"]


class ConfiguredHooks:
    def __init__(
        self, settings: Settings, command: str, emit: Emit, halt: Halt, bytes_of: Callable[[str], int]
    ) -> None:
        self._emit = emit
        self._halt = halt
        self._callback = settings.callback
        self._hooks = HookDispatcher(settings.hooks, settings.root, settings.project.name, command, self._warn)
        self._budget = Budget(settings.budget, self._breached, bytes_of)
        self._budget.start()

    def __call__(self, event: Event) -> None:
        self._budget(event)
        try:
            self._hooks(event)
        except HookError as error:
            if event.name == "pipeline_error":
                self._warn(str(error))
                return
            self._halt(error)
            if event.name in STOPPABLE_EVENTS:
                raise

    def choose(self, select: Callable[[Sequence[str]], Collection[str]]) -> None:
        self._hooks.choose(select)

    def drain(self) -> None:
        self._hooks.drain()

    def close(self, ending: Ending | None) -> None:
        self._budget.close()
        try:
            self._hooks.drain()
            if self._callback is not None and ending is not None:
                result = send_callback(self._callback, ending)
                if not result.ok:
                    self._warn(f"the callback to {self._callback.shown} failed: {result.message}")
        finally:
            self._hooks.close()

    def _warn(self, message: str) -> None:
        self._emit("warning", None, {"message": message})

    def _breached(self, breach: Breach) -> None:
        self._emit("budget_breach", None, {**asdict(breach), "message": breach.message})
        if breach.on_breach == "fail":
            self._halt(breach.error)
        else:
            self._warn(breach.message)
