"""`tg` for code that is given no tables: table functions and checks of the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.python_models.code_runner import CodeFailure
from tidegate.python_models.model_api import CallFacts, ModelApi

__all__ = ["api_without_inputs"]


def api_without_inputs(facts: CallFacts, log: Callable[[str], None]) -> ModelApi:
    """`tg.var`, `tg.log` and `tg.run_started_at`."""
    return ModelApi(facts, _NoInputs(facts.model, log))


class _NoInputs:
    def __init__(self, name: str, log: Callable[[str], None]) -> None:
        self._name = name
        self.log = log

    def frame(self, handle: str) -> Any:
        raise CodeFailure(f"{self._name} reads no tables of the project", remedy="Read them in a model.")

    def sql(self, text: str) -> Any:
        return self.frame(text)
