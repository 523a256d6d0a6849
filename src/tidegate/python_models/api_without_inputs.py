"""`tg` for code that is given no tables: table functions and checks of the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.errors import QueryError
from tidegate.python_inputs import ReadKind
from tidegate.python_models.model_api import CallFacts, ModelApi

__all__ = ["api_without_inputs"]


def api_without_inputs(facts: CallFacts, log: Callable[[str], None]) -> ModelApi:
    """`tg.var`, `tg.log` and `tg.run_started_at`."""
    return _ApiWithoutInputs(facts, _LogAlone(log))


class _LogAlone:
    def __init__(self, log: Callable[[str], None]) -> None:
        self.log = log

    def frame(self, handle: str) -> Any:
        raise LookupError(handle)

    def sql(self, text: str) -> Any:
        raise LookupError(text)


class _ApiWithoutInputs(ModelApi):
    def this(self) -> Any:
        return self._read(ReadKind.THIS, "")

    def sql(self, query: str) -> Any:
        raise self._refusal("tg.sql")

    def _read(self, kind: ReadKind, name: str) -> Any:
        raise self._refusal(f"tg.{kind}")

    def _refusal(self, call: str) -> QueryError:
        message = f"{call}: {self._facts.model} reads no tables of the project"
        return QueryError(message, remedy="Read them in a model, and give what is needed as arguments.")
