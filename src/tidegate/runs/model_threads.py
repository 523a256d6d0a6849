"""Threads that build models."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from tidegate.names import TableName
from tidegate.runs.tally import ModelOutcome

__all__ = ["ModelThreads"]


class ModelThreads:
    """As many as models are built side by side."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="model")
        self._tables: dict[Future[ModelOutcome], TableName] = {}

    def start(self, table: TableName, build: Callable[[], ModelOutcome]) -> None:
        self._tables[self._pool.submit(build)] = table

    def wait(self, seconds: float) -> dict[TableName, ModelOutcome | BaseException]:
        """Until one ends, at most so long: what those returned or raised that have ended, in order of name."""
        ended, _ = wait(self._tables, seconds, FIRST_COMPLETED)
        futures = sorted((self._tables.pop(future), future) for future in ended)
        return {table: future.exception() or future.result() for table, future in futures}

    def close(self, abandon: bool) -> None:
        """`abandon`: without waiting for those that do not end; the process is about to."""
        self._pool.shutdown(wait=not abandon, cancel_futures=True)
