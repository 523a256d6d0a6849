"""The bar of a terminal that shows how far a chunked load is, with rows per second and the time left; it is gone at
the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from tidegate.amounts import duration
from tidegate.cli.terminal import color_system

if TYPE_CHECKING:
    from tidegate.chunks.bronze_loader import LoadProgress
    from tidegate.chunks.chunk_file import ChunkProgress
    from tidegate.chunks.process_bronze import ProcessProgress

__all__ = ["ChunkProgressBar"]

_NAME_WIDTH = 40


class _Rate(ProgressColumn):
    """Rows, and rows per second since the work began."""

    def render(self, task: Task) -> Text:
        rows, elapsed = task.fields["rows"], task.elapsed or 0
        rate = f"  {int(rows / elapsed):,} rows/s" if rows and elapsed >= 1 else ""
        return Text(f"{rows:,} rows{rate}")


class _TimeLeft(ProgressColumn):
    def render(self, task: Task) -> Text:
        done, total, elapsed = task.completed, task.total, task.elapsed or 0
        if not done or not total or elapsed < 1:
            return Text("")
        return Text(f"{duration(int(elapsed * (total - done) / done) * 1000)} left")


class ChunkProgressBar:
    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic, color: bool = True) -> None:
        console = Console(
            file=stream, highlight=False, markup=False, emoji=False, color_system=color_system(color), stderr=True
        )
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}%"),
            _Rate(Column(no_wrap=True)),
            _TimeLeft(Column(no_wrap=True)),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            refresh_per_second=8,
            get_time=clock,
        )
        self._what = ""
        self._task = self._progress.add_task("", total=None, visible=False, rows=0)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def renderable(self) -> RenderableType:
        return self._progress.get_renderable()

    def chunking(self, progress: ChunkProgress) -> None:
        self._show(progress.file, progress.bytes_read, progress.bytes, progress.rows)

    def processing(self, progress: ProcessProgress) -> None:
        what = f"{progress.source}: {progress.chunks} of {progress.all_chunks} chunks"
        self._show(progress.source, progress.rows, progress.all_rows, progress.rows, what)

    def loading(self, progress: LoadProgress) -> None:
        what = f"{progress.parent_path.split('/')[1]}: {progress.chunks_loaded} of {progress.chunks} chunks"
        rows = progress.rows + (self._rows() if self._what == progress.parent_path else 0)
        self._show(progress.parent_path, progress.chunks_loaded, progress.chunks, rows, what)

    def _rows(self) -> int:
        return int(self._progress.tasks[0].fields["rows"])

    def _show(self, what: str, done: float, total: float, rows: int, text: str | None = None) -> None:
        if what != self._what:
            self._what = what
            self._progress.reset(self._task, total=total, visible=True)
        shown = text or what
        shown = shown if len(shown) <= _NAME_WIDTH else f"…{shown[1 - _NAME_WIDTH :]}"
        self._progress.update(self._task, completed=done, total=total, rows=rows, description=shown)
