"""Running the command of a hook: the payload goes in on stdin, and its time-out ends all that it started."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidegate import processes
from tidegate.config import CommandHook, format_duration
from tidegate.errors import FailureKind
from tidegate.failures import kind_of
from tidegate.hooks.hook_result import HookResult, one_line, redact_and_shorten
from tidegate.hooks.payload import Payload
from tidegate.jsontext import json_text
from tidegate.spark.jvm import GATEWAY_VARIABLES

__all__ = ["Commands"]

_MAX_OUTPUT = 4096
_POLL_SECONDS = 0.05
_GRACE_SECONDS = 1.0
_MAX_VARIABLE_LENGTH = 8192
_IN_ENVIRONMENT = (
    "event", "run_id", "project", "command", "timestamp", "model", "status", "error", "rows_written", "duration_ms",
    "message",
)  # fmt: skip


class Commands:
    """Tracks the running processes, so that none outlives its run."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._running: dict[subprocess.Popen[bytes], threading.Event] = {}
        self._over = False

    def run(self, hook: CommandHook, payload: Payload) -> HookResult:
        started = time.monotonic()
        text, kind = self._in_thread(hook, payload)
        took = round((time.monotonic() - started) * 1000)
        return HookResult(redact_and_shorten(text, hook.env.values()), kind, duration_ms=took)

    def _in_thread(self, hook: CommandHook, payload: Payload) -> tuple[str, FailureKind | None]:
        """A signal may interrupt the main thread after a process was started and before it is tracked, so another
        thread starts it."""
        stop = threading.Event()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="hook") as pool:
            running = pool.submit(self._run, hook, payload, stop)
            try:
                return running.result()
            except BaseException:
                stop.set()
                with self._lock:
                    left = [process for process, its in self._running.items() if its is stop]
                for process in left:
                    _end(process)
                raise

    def end_all(self) -> None:
        """End all running commands, and one that is being started at this moment."""
        with self._lock:
            self._over = True
            left = list(self._running)
        for process in left:
            _end(process)

    def _run(self, hook: CommandHook, payload: Payload, stop: threading.Event) -> tuple[str, FailureKind | None]:
        command = ["/bin/sh", "-c", hook.command] if isinstance(hook.command, str) else list(hook.command)
        with tempfile.NamedTemporaryFile() as input_file:
            # A file, not a pipe: a command that does not read it must not block this process.
            input_file.write(json_text(payload).encode())
            input_file.flush()
            environment = {name: value for name, value in os.environ.items() if name not in GATEWAY_VARIABLES}
            environment |= _variables(hook, payload)
            try:
                process = processes.start(
                    command, stdin=Path(input_file.name), stdout=subprocess.PIPE, cwd=self._root, env=environment
                )
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                return f"{command[0]} cannot be started: {reason}", kind_of(error)
            with self._watched(process, stop):
                output, in_time = _follow(process, hook.timeout.total_seconds())
        last_line = one_line(output.decode("utf-8", "replace"), last=True)
        if not in_time:
            return f"not done after {format_duration(hook.timeout)}, so it was ended", FailureKind.TIMEOUT
        code = process.returncode
        if code == 0:
            return last_line or "exit code 0", None
        how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
        return f"{how}{f': {last_line}' if last_line else ''}", FailureKind.UNKNOWN

    @contextlib.contextmanager
    def _watched(self, process: subprocess.Popen[bytes], stop: threading.Event) -> Iterator[None]:
        with self._lock:
            self._running[process] = stop
            too_late = self._over or stop.is_set()
        if too_late:
            _end(process)
        try:
            yield
        except BaseException:
            _end(process)
            raise
        finally:
            processes.release(process)
            with self._lock:
                self._running.pop(process, None)
            if process.stdout is not None:
                process.stdout.close()


def _follow(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bool]:
    """The end of its output, and whether it ended in time. Processes that it leaves behind may keep its output open."""
    assert process.stdout is not None
    deadline = time.monotonic() + seconds
    output = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(min(left, _POLL_SECONDS)):
                if process.poll() is not None:
                    return output, True
                continue
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                break
            output = (output + chunk)[-_MAX_OUTPUT:]
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        _end(process)
        return output, False
    return output, True


def _end(process: subprocess.Popen[bytes]) -> None:
    processes.end(process, _GRACE_SECONDS)


def _variables(hook: CommandHook, payload: Payload) -> Mapping[str, str]:
    own = {name: value.reveal() for name, value in hook.env.items()}
    facts = {f"TIDEGATE_{name.upper()}": _variable(payload[name]) for name in _IN_ENVIRONMENT}
    return {**facts, "TIDEGATE_HOOK": _variable(hook.name), **own}


def _variable(value: object) -> str:
    return "" if value is None else str(value).replace("\0", "")[:_MAX_VARIABLE_LENGTH]
