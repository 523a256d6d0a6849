"""Arguments of the project's own checks as JSON, which crosses the wall of the sandbox, and back."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from tidegate.checks.check_values import Argument, ColumnName
from tidegate.names import quote

__all__ = ["argument_as_json", "argument_from_json"]


def argument_as_json(value: Argument) -> Any:
    if isinstance(value, ColumnName):
        return {"column": quote(value.name)}
    if isinstance(value, tuple):
        return [argument_as_json(one) for one in value]
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, timedelta):
        return {"seconds": value.total_seconds()}
    return value


def argument_from_json(value: Any) -> Any:
    """As the function is given it: of a column a Column."""
    from pyspark.sql import functions as f

    match value:
        case {"column": str(text)}:
            return f.col(text)
        case {"decimal": str(text)}:
            return Decimal(text)
        case {"seconds": float(number)}:
            return timedelta(seconds=number)
        case list():
            return [argument_from_json(one) for one in value]
    return value
