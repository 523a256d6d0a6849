"""The line of a terminal that shows how far a source is read; it is gone at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from tidegate.amounts import duration
from tidegate.cli.terminal import color_system

if TYPE_CHECKING:
    from tidegate.ingest.port import ReadProgress

__all__ = ["IngestProgress"]


class IngestProgress:
    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic, color: bool = True) -> None:
        self._clock = clock
        self._began = clock()
        self._newest: ReadProgress | None = None
        self._spinner = Spinner("dots")
        console = Console(
            file=stream, highlight=False, markup=False, emoji=False, color_system=color_system(color), stderr=True
        )
        self._live = Live(get_renderable=self._render, console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, progress: ReadProgress) -> None:
        self._newest = progress

    def _render(self) -> Spinner:
        elapsed = duration(int(self._clock() - self._began) * 1000)
        text = "connecting to the source" if self._newest is None else self._newest.text
        self._spinner.update(text=Text(f"{text}  {elapsed}"))
        return self._spinner
