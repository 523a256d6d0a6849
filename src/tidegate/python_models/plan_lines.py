"""The line of the code that made a part of a plan of Spark Connect. This runs inside the sandbox.

Spark looks at a plan only when its rows or columns are needed, so a mistake would be reported without its place.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["analyze", "note_lines"]

_MOST_STEPS = 200
_LINE = "_tidegate_line"


def note_lines(file: str) -> None:
    """From now on each part of a plan has the line of `file` where it was made."""
    from pyspark.sql.connect.plan import LogicalPlan

    original = LogicalPlan.__init__

    def noted(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back  # type: ignore[assignment]
        setattr(self, _LINE, frame.f_lineno if frame is not None else None)

    LogicalPlan.__init__ = noted


def analyze(frame: Any) -> None:
    """Raises what Spark says of the plan, with its line."""
    try:
        frame.schema  # noqa: B018 - it is computed
    except Exception as error:
        error.line = _line_to_blame(frame)  # type: ignore[attr-defined]
        raise


def _line_to_blame(frame: Any) -> int | None:
    """Of the innermost part that is wrong by itself."""
    from pyspark.sql.connect.dataframe import DataFrame

    for number, part in enumerate(_inner_first(frame._plan)):
        if number > _MOST_STEPS:
            break
        try:
            DataFrame(part, frame.sparkSession).schema  # noqa: B018 - it is computed
        except Exception:
            line: int | None = getattr(part, _LINE, None)
            return line
    return None


def _inner_first(plan: Any) -> Iterator[Any]:
    from pyspark.sql.connect.plan import LogicalPlan

    for part in vars(plan).values():
        for each in part if isinstance(part, list | tuple) else (part,):
            if isinstance(each, LogicalPlan):
                yield from _inner_first(each)
    yield plan
