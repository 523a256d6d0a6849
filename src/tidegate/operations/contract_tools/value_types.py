"""The type that a sample of values suggests: of text as CSV files hold it, and of values of JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tidegate.contracts.ingestion import DEFAULT_NULL_VALUES
from tidegate.datatypes import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, DataType, array, decimal, struct

__all__ = ["ValueTypes"]

_INTEGER = re.compile(r"[+-]?(0|[1-9]\d*)")
_FRACTION = re.compile(r"[+-]?(0|[1-9]\d*)\.(\d+)")
_EXPONENT = re.compile(r"[+-]?\d+(\.\d+)?[eE][+-]?\d+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?")
_DIGITS_OF_BIGINT = 18
_USUAL_DIGITS, _MOST_DIGITS = 18, 38


@dataclass
class ValueTypes:
    """What has been seen of one column. A sample may mislead, so decimals get room and doubtful values stay text."""

    kinds: set[str] = field(default_factory=set)
    digits: int = 0
    """Before the point."""
    scale: int = 0
    fields: dict[str, ValueTypes] = field(default_factory=dict)
    """Of objects, as they are first spelled."""
    element: ValueTypes | None = None

    def add_text(self, text: str) -> None:
        text = text.strip()
        if text in DEFAULT_NULL_VALUES:
            return
        if text.lower() in ("true", "false"):
            self.kinds.add("boolean")
        elif match := _INTEGER.fullmatch(text):
            self._number(len(match[1]), 0)
        elif match := _FRACTION.fullmatch(text):
            self._number(len(match[1]), len(match[2]))
        elif _EXPONENT.fullmatch(text):
            self.kinds.add("double")
        else:
            self.kinds.add(_moment_or_text(text))

    def add_json(self, value: Any) -> None:
        """Numbers are `int` and `Decimal`. Text stays text, unless it is a day or a time."""
        match value:
            case None:
                pass
            case bool():
                self.kinds.add("boolean")
            case int():
                self._number(len(str(abs(value))), 0)
            case Decimal():
                self._decimal(value)
            case str():
                if value.strip() not in DEFAULT_NULL_VALUES:
                    self.kinds.add(_moment_or_text(value))
            case dict():
                self.kinds.add("struct")
                for name, item in value.items():
                    self.fields.setdefault(name, ValueTypes()).add_json(item)
            case list():
                self.kinds.add("array")
                self.element = self.element or ValueTypes()
                for item in value:
                    self.element.add_json(item)
            case _:
                self.kinds.add("double")  # NaN and infinity

    def _decimal(self, value: Decimal) -> None:
        text = str(value)
        if match := _FRACTION.fullmatch(text):
            self._number(len(match[1]), len(match[2]))
        else:
            self.kinds.add("double")

    def _number(self, digits: int, scale: int) -> None:
        self.kinds.add("decimal" if scale or digits > _DIGITS_OF_BIGINT else "bigint")
        self.digits, self.scale = max(self.digits, digits), max(self.scale, scale)

    @property
    def type(self) -> DataType:
        kinds = self.kinds
        if kinds == {"struct"}:
            return struct((name, inner.type) for name, inner in self.fields.items())
        if kinds == {"array"} and self.element is not None:
            return array(self.element.type)
        if kinds and kinds <= {"bigint", "decimal", "double"}:
            return DOUBLE if "double" in kinds else BIGINT if kinds == {"bigint"} else self._decimal_type()
        if kinds == {"date", "timestamp"}:
            return TIMESTAMP
        simple = {"boolean": BOOLEAN, "date": DATE, "timestamp": TIMESTAMP}
        return simple.get(next(iter(kinds)), STRING) if len(kinds) == 1 else STRING

    def _decimal_type(self) -> DataType:
        needed = self.digits + self.scale
        if needed > _MOST_DIGITS:
            return STRING
        return decimal(_USUAL_DIGITS if needed <= _USUAL_DIGITS else _MOST_DIGITS, self.scale)


def _moment_or_text(text: str) -> str:
    for pattern, parse, kind in ((_DAY, date.fromisoformat, "date"), (_MOMENT, datetime.fromisoformat, "timestamp")):
        if pattern.fullmatch(text):
            try:
                parse(text)
            except ValueError:
                return "string"
            return kind
    return "string"
