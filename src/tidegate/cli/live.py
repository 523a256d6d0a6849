"""The live part of a run's screen: what is under way, below the lines of what has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from tidegate.amounts import duration, plural
from tidegate.cli.terminal import color_system

__all__ = ["LiveView"]

_STYLES = {
    "[OK]": "green",
    "[REBUILT]": "green",
    "[FAIL]": "bold red",
    "[BLOCKED]": "yellow",
    "[WARN]": "yellow",
    "[CANCELLED]": "yellow",
}
_WORDS = {
    "config_loading": "reading inputs",
    "build_result": "building",
    "iceberg_write": "writing",
    "quality_tests": "checking",
}


@dataclass
class _Running:
    since: float
    doing: str = "starting"
    rows: int | None = None


class LiveView:
    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic, color: bool = True) -> None:
        self._clock = clock
        self._began = clock()
        self._running: dict[str, _Running] = {}
        self._busy: tuple[str, float] | None = None
        self._total = 0
        self._done = 0
        self._rows = 0
        self._spinner = Spinner("dots")
        self._console = Console(
            file=stream, highlight=False, markup=False, emoji=False, color_system=color_system(color)
        )
        self._live = Live(get_renderable=self._render, console=self._console, transient=True, refresh_per_second=8)
        self._live.start()

    def line(self, text: str) -> None:
        self._console.print(_colored(text), soft_wrap=True)

    def total(self, models: int) -> None:
        self._total = models

    def busy(self, doing: str) -> None:
        self._busy = (doing, self._clock()) if doing else None

    def reading(self, text: str) -> None:
        since = self._busy[1] if self._busy is not None else self._clock()
        self._busy = (text, since) if text else None

    def started(self, model: str) -> None:
        self._running[model] = _Running(self._clock())

    def doing(self, model: str, phase: str, rows: int | None) -> None:
        running = self._running.get(model)
        if running is not None:
            running.doing = _WORDS.get(phase, phase) or running.doing
            running.rows = rows if rows is not None else running.rows

    def ended(self, model: str, rows: int) -> None:
        self._running.pop(model, None)
        self._done += 1
        self._rows += rows

    def close(self) -> None:
        self._live.stop()

    def _render(self) -> RenderableType:
        # Called by rich's own thread while a run's threads change what is under way: work on a copy.
        running = list(self._running.items())
        now = self._clock()
        grid = Table.grid(padding=(0, 2))
        if (busy := self._busy) is not None:
            grid.add_row(self._spinner, busy[0], "", "", duration(_milliseconds(now - busy[1])))
        for model, state in running:
            rows = "" if state.rows is None else plural(state.rows, "row")
            grid.add_row(self._spinner, model, state.doing, rows, duration(_milliseconds(now - state.since)))
        elapsed = duration(_milliseconds(now - self._began))
        if not self._total:
            return Group(grid, Text(f"{elapsed}", style="dim"))
        bar = Table.grid(padding=(0, 2))
        counts = (
            f"{min(self._done, self._total)}/{plural(self._total, 'model')}, {plural(self._rows, 'row')}, {elapsed}"
        )
        bar.add_row(ProgressBar(total=self._total, completed=self._done, width=30), counts)
        return Group(grid, bar)


def _milliseconds(seconds: float) -> int:
    """Whole seconds once there are some: tenths would only flicker."""
    return round(seconds * 1000) if seconds < 1 else int(seconds) * 1000


def _colored(line: str) -> Text:
    text = Text(line)
    tag = line.split(" ", 1)[0]
    if tag in _STYLES:
        text.stylize(_STYLES[tag], 0, len(tag))
    elif line.startswith("error:"):
        text.stylize("bold red", 0, len("error:"))
    return text
