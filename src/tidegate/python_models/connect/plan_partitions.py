"""How many partitions a plan asks for: Spark's driver makes a task of each before the first one runs."""

from __future__ import annotations

import re
from typing import Any

from tidegate.compiler.analysis.lexemes import Lexeme
from tidegate.python_models.connect.plan_functions import refusal

__all__ = ["PARTITION_HINTS", "PlanPartitions"]

_MOST = 100_000
PARTITION_HINTS = frozenset({"coalesce", "repartition", "repartition_by_range", "rebalance"})
_NUMBER = re.compile(r"(?<!\w)[0-9]+")
_INTEGERS = frozenset({"byte", "short", "integer", "long"})
_RANGE_ARGUMENT = 3
"""Where the table function range(start, end, step, partitions) takes them."""


class PlanPartitions:
    """Of one plan together: a union has those of all its inputs."""

    def __init__(self) -> None:
        self._asked = 0

    def begin_plan(self) -> None:
        self._asked = 0

    def ask(self, count: int) -> None:
        self._asked += max(0, count)
        if self._asked > _MOST:
            raise refusal(f"the plan asks for more than {_MOST} partitions")

    def ask_hint(self, message: Any) -> None:
        """A hint of a DataFrame. What is neither a number nor a column might be a number by another name."""
        if message.name.lower() not in PARTITION_HINTS:
            return
        for parameter in message.parameters:
            value = parameter.sort_order.child if parameter.WhichOneof("expr_type") == "sort_order" else parameter
            if value.WhichOneof("expr_type") not in ("literal", "unresolved_attribute"):
                raise refusal(f"the hint {message.name} takes a number of partitions and names of columns")
            self.ask(_integer(value.literal))

    def ask_hint_text(self, hint: Lexeme) -> None:
        """Its numbers are partitions, whatever hints it holds."""
        for number in _NUMBER.findall(hint.text):
            self.ask(_bounded(number))

    def ask_range(self, arguments: Any) -> None:
        for argument in arguments[_RANGE_ARGUMENT:]:
            if argument.literal.WhichOneof("literal_type") not in _INTEGERS:
                raise refusal("the partitions of range() must be a plain number")
            self.ask(_integer(argument.literal))

    def ask_range_text(self, arguments: list[list[Lexeme]]) -> None:
        for argument in arguments[_RANGE_ARGUMENT:]:
            if len(argument) != 1 or not _NUMBER.fullmatch(argument[0].text):
                raise refusal("the partitions of range() must be a plain number")
            self.ask(_bounded(argument[0].text))


def _integer(literal: Any) -> Any:
    kind = literal.WhichOneof("literal_type")
    return getattr(literal, kind) if kind in _INTEGERS else 0


def _bounded(digits: str) -> int:
    """Python refuses to read numbers of very many digits."""
    return int(digits) if len(digits) < len(str(_MOST)) + 10 else _MOST + 1
