"""A run as a person sees it: a listener that writes a line per model, with live progress on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Protocol, TextIO

from tidegate.cli.invocation import Invocation
from tidegate.cli.run_text import (
    anomaly_line,
    check_lines,
    detail_lines,
    drift_line,
    end_lines,
    head_line,
    model_lines,
    repeated_line,
)
from tidegate.cli.terminal import clean, is_terminal
from tidegate.hooks.events import Event
from tidegate.results import CheckResult, ModelResult
from tidegate.runs.result import RunResult
from tidegate.spark.starting import NOT_STARTED, STARTED, STARTING

__all__ = ["PlainView", "RunConsole", "RunView", "open_console", "open_view"]

_USUAL_WIDTH = 20


class RunView(Protocol):
    """Where lines are written, and what may show the progress."""

    def line(self, text: str) -> None: ...
    def total(self, models: int) -> None: ...
    def busy(self, doing: str) -> None:
        """What the run itself does, until the next call; empty: nothing worth a line."""

    def reading(self, text: str) -> None:
        """How far the reading of a source has come; empty: it is over."""

    def started(self, model: str) -> None: ...
    def doing(self, model: str, phase: str, rows: int | None) -> None: ...
    def ended(self, model: str, rows: int) -> None: ...
    def close(self) -> None: ...


class PlainView:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._gone = False

    def line(self, text: str) -> None:
        if self._gone:
            return
        try:
            print(text, file=self._stream, flush=True)
        except (BrokenPipeError, ValueError):
            # The reader is gone. The run continues: half a run is worse than one that is not read.
            self._gone = True

    def busy(self, doing: str) -> None:
        if doing:
            self.line(doing)

    def total(self, models: int) -> None: ...
    def reading(self, text: str) -> None: ...
    def started(self, model: str) -> None: ...
    def doing(self, model: str, phase: str, rows: int | None) -> None: ...
    def ended(self, model: str, rows: int) -> None: ...
    def close(self) -> None: ...


def open_view(stream: TextIO, live: bool = True, color: bool = True) -> RunView:
    if live and is_terminal(stream):
        # rich takes a tenth of a second to import, which a run in a pipe need not pay.
        from tidegate.cli.live import LiveView

        return LiveView(stream, color=color)
    return PlainView(stream)


class RunConsole:
    """Listens to a run; `show` writes how it ended. Events may come from several threads.

    `quiet`: only what did not succeed, and the end. `verbose`: why each model was built, and where its time went.
    """

    def __init__(self, view: RunView, quiet: bool = False, verbose: bool = False) -> None:
        self._view = view
        self._quiet = quiet
        self._verbose = verbose
        self._lock = threading.Lock()
        self._width = 0
        self._shown_models: set[str] = set()
        self._shown_checks: set[tuple[str, str, str]] = set()
        self._failed_checks: dict[str, list[CheckResult]] = {}
        self._shown_warnings: set[str] = set()
        self._drift: dict[str, list[Mapping[str, Any]]] = {}
        self._rebuilt: set[str] = set()

    def __enter__(self) -> RunConsole:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view.close()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._receive(event)

    def show(self, result: RunResult) -> None:
        with self._lock:
            self._view.close()
            if result.repeated:
                self._view.line(repeated_line(result))
                return
            for check in result.check_results:
                self._show_check(check)
            for materialization in result.materializations:
                self._show_model(materialization)
            for checks in self._failed_checks.values():
                self._lines(line for check in checks for line in check_lines(check))
            for warning in result.warnings:
                self._show_warning(warning)
            self._lines(end_lines(result, len(self._rebuilt)))

    def _receive(self, event: Event) -> None:
        result = event.data.get("result")
        if isinstance(result, ModelResult):
            self._show_model(result)
        elif isinstance(result, CheckResult):
            self._show_check(result)
        elif event.name == "pipeline_start":
            self._begin(event)
        elif event.name == "anomaly_detected":
            self._aside(anomaly_line(event.model or "", str(event.data["message"])))
        elif event.name == "warning":
            self._show_warning(str(event.data.get("message", "")), event.model)
        elif event.data.get("phase") == "ingest":
            text = str(event.data.get("message", ""))
            self._view.reading("" if event.model is None else text)
            if event.model is None:
                self._aside(text)
        elif event.data.get("phase") == "log":
            for line in str(event.data["message"]).splitlines() or [""]:  # each says whose it is
                self._aside(f"{event.model}: {clean(line)}")
        elif event.data.get("phase") == "traceback":
            pass  # for the log
        elif event.model is None:
            if event.name == "phase" and event.data.get("message"):
                self._phase(str(event.data["message"]))
        elif event.name == "drift_detected":
            self._drift.setdefault(event.model, []).append(event.data)
        elif event.name == "before_model_run":
            # A model that is built again after a conflict gets a second line.
            if event.model in self._shown_models:
                self._shown_models.discard(event.model)
                self._rebuilt.add(event.model)
            self._drift.pop(event.model, None)
            self._shown_checks = {key for key in self._shown_checks if key[0] != event.model}
            self._failed_checks.pop(event.model, None)
            self._view.started(event.model)
        else:
            phase, rows = event.data.get("phase"), event.data.get("rows_written")
            self._view.doing(event.model, str(phase or ""), rows if isinstance(rows, int) else None)

    def _phase(self, message: str) -> None:
        if message in (STARTING, STARTED, NOT_STARTED):
            self._view.busy(message if message == STARTING and not self._quiet else "")
        else:
            self._aside(message)

    def _begin(self, event: Event) -> None:
        models = event.data.get("models", 0)
        names = [str(model) for model in models] if isinstance(models, list | tuple) else []
        count = models if isinstance(models, int) else len(names)
        # Where only the number is known, the width of a usual name keeps most lines below each other.
        self._width = max(map(len, names), default=_USUAL_WIDTH)
        self._view.total(count)
        self._aside(head_line(event.run_id, count, bool(event.data.get("resumes"))))

    def _show_model(self, result: ModelResult) -> None:
        if result.model in self._shown_models:
            return
        self._shown_models.add(result.model)
        self._view.ended(result.model, result.rows_written)
        checks = self._failed_checks.pop(result.model, []) if result.failure_kind == "QualityFailed" else []
        if self._quiet and result.status in ("completed", "skipped"):
            return
        width = max(self._width, len(result.model))
        self._lines(model_lines(result, width, checks, rebuilt=result.model in self._rebuilt))
        self._lines(map(drift_line, self._drift.pop(result.model, ())))
        if self._verbose:
            self._lines(detail_lines(result))

    def _show_check(self, check: CheckResult) -> None:
        key = (check.model, check.stage, check.name)
        if key in self._shown_checks:
            return
        self._shown_checks.add(key)
        if check.blocks:  # the line of its model shows it
            self._failed_checks.setdefault(check.model, []).append(check)
        elif not self._quiet:
            self._lines(check_lines(check))

    def _show_warning(self, message: str, model: str | None = None) -> None:
        if message not in self._shown_warnings:
            self._shown_warnings.add(message)
            # Warnings of a result stand without their event, so those that need it name their model themselves.
            has_model = model is None or message.startswith(f"{model}: ")
            self._aside(f"[WARN] {message}" if has_model else f"[WARN] {model}: {message}")

    def _aside(self, line: str) -> None:
        """What is neither a failure nor the summary."""
        if not self._quiet:
            self._view.line(line)

    def _lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._view.line(line)


def open_console(invocation: Invocation) -> RunConsole:
    """As the options of the call want it; beside a document for programs it is on stderr."""
    stream = sys.stderr if invocation.json else sys.stdout
    view = open_view(stream, live=not invocation.quiet, color=not invocation.no_color)
    return RunConsole(view, invocation.quiet, invocation.verbose)
