"""Which hooks receive an event, in which order, and what a failing one does to the run."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from tidegate.config import CommandHook, HookSettings, WebHook
from tidegate.errors import FailureKind, HookError, SelectionError
from tidegate.hooks.commands import Commands
from tidegate.hooks.events import Event
from tidegate.hooks.hook_result import HookResult
from tidegate.hooks.payload import Payload, payload_of, status_of
from tidegate.hooks.posting import send_webhook

__all__ = ["DRAIN_SECONDS", "BackgroundDelivery", "HookDispatcher"]

_MAX_WAITING = 1000


class BackgroundDelivery:
    """Webhooks that the run does not wait for. Each hook has one thread, so that its payloads keep their order; it does
    not keep the process from ending."""

    def __init__(self, deliver: Callable[[Payload], None]) -> None:
        self._deliver = deliver
        self._waiting: deque[Payload] = deque()
        self._changed = threading.Condition()
        self._busy = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def put(self, payload: Payload) -> bool:
        """False: too many are waiting, and this one is rejected."""
        with self._changed:
            if self._closed or len(self._waiting) >= _MAX_WAITING:
                return False
            self._waiting.append(payload)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="async-webhook", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return True

    def drain(self, seconds: float) -> int:
        """Wait until all are delivered, at most so many seconds. Returns how many are left; those are dropped."""
        with self._changed:
            if self._closed:
                return 0
            self._changed.wait_for(lambda: not self._waiting and not self._busy, seconds)
            left = len(self._waiting) + self._busy
        if left:
            self.close()
        return left

    def close(self) -> None:
        """Drop what is still waiting."""
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


DRAIN_SECONDS = 30.0
"""How long the end of a run waits for webhooks that are delivered in the background."""

_FAILED_STATUSES = ("failed", "error", "warned")
"""Statuses of a check_result that makes it a check_failed; `warned` is a failed check of severity `warn`."""


class HookDispatcher:
    """Events may come from several threads at once. The hooks of one event are called in the order of the file."""

    def __init__(
        self, hooks: Sequence[HookSettings], root: Path, project: str, command: str, warn: Callable[[str], None]
    ) -> None:
        self._hooks = hooks
        self._project = project
        self._command = command
        self._warn = warn
        self._commands = Commands(root)
        self._models: dict[str, Collection[str]] = {}
        self._over = threading.Event()
        self._background = {
            hook.name: BackgroundDelivery(partial(self._call_hook, hook))
            for hook in hooks
            if isinstance(hook, WebHook) and hook.background
        }

    def choose(self, select: Callable[[Sequence[str]], Collection[str]]) -> None:
        """`select` resolves selections to names of models. Call it before the first event about a model."""
        for hook in self._hooks:
            if hook.models:
                try:
                    self._models[hook.name] = select(hook.models)
                except SelectionError as error:
                    message = f"hook '{hook.name}': {error}"
                    raise SelectionError(message, where="[[hooks]] models", remedy=error.remedy) from error

    def __call__(self, event: Event) -> None:
        """Raises HookError where a hook with on_failure "abort" fails; the hooks after it are not called then."""
        for hook in self._hooks:
            name = self._event_name_for(hook, event)
            if name is None:
                continue
            payload = payload_of(event, self._project, self._command, name)
            if hook.name not in self._background:
                self._call_hook(hook, payload)
            elif not self._background[hook.name].put(payload):
                self._warn(f"hook '{hook.name}' is too slow: {name} was not sent")

    def send_sample(self, hook: HookSettings, event: Event, name: str) -> HookResult:
        """Call the hook regardless of its models and statuses, and wait for its result."""
        return self._result(hook, payload_of(event, self._project, self._command, name))

    def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for background deliveries; what is not delivered by then is dropped."""
        deadline = time.monotonic() + seconds
        for name, background in self._background.items():
            left = background.drain(max(0.0, deadline - time.monotonic()))
            if left:
                notices = "1 notice was" if left == 1 else f"{left} notices were"
                self._warn(f"hook '{name}': {notices} not delivered within {seconds:g}s")

    def close(self) -> None:
        """Stop waiting, and end commands that are still running."""
        self._over.set()
        for background in self._background.values():
            background.close()
        self._commands.end_all()

    def _event_name_for(self, hook: HookSettings, event: Event) -> str | None:
        """The name under which the hook receives the event, or None. A failed check is sent once, as check_failed."""
        name = event.name
        if name == "check_result" and "check_failed" in hook.events and status_of(event) in _FAILED_STATUSES:
            name = "check_failed"
        if name not in hook.events:
            return None
        if hook.models and event.model not in self._models.get(hook.name, ()):
            return None
        if hook.statuses and status_of(event) not in hook.statuses:
            return None
        return name

    def _call_hook(self, hook: HookSettings, payload: Payload) -> None:
        result = self._result(hook, payload)
        if result.ok or hook.on_failure == "ignore" or self._over.is_set():
            return
        tries = f" ({result.tries} tries)" if result.tries > 1 else ""
        what = payload["event"] + (f" of {payload['model']}" if payload["model"] else "")
        message = f"hook '{hook.name}' on {what} failed: {result.message}{tries}"
        if hook.on_failure == "warn":
            self._warn(message)
            return
        raise HookError(
            message,
            hook=hook.name,
            # A hook that refuses, rather than cannot be reached, has cancelled the run.
            kind=FailureKind.CANCELLED if result.kind in (None, FailureKind.UNKNOWN) else result.kind,
            remedy=f'Fix the hook (`tidegate hooks test {payload["event"]}` tries it), or set on_failure = "warn".',
        )

    def _result(self, hook: HookSettings, payload: Payload) -> HookResult:
        try:
            if isinstance(hook, CommandHook):
                return self._commands.run(hook, payload)
            return send_webhook(hook, payload, self._over.wait)
        except Exception as error:
            return HookResult(f"{type(error).__name__}: {error}", FailureKind.UNKNOWN)
