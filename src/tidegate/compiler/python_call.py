"""What the code of a Python model is called with: its inputs as queries, and the values of one run."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.compiler.compiled import BoundQuery, RunValues
from tidegate.names import TableName
from tidegate.python_inputs import ReadKind

__all__ = ["PythonCall", "PythonInput"]


@dataclass(frozen=True, slots=True)
class PythonInput:
    handle: str
    """By which the code asks for it, see `handle_of`."""

    kind: ReadKind

    query: BoundQuery
    """All its rows, as `SELECT * FROM …` over one read. Of changes: all rows of the table, without the operation."""

    table: TableName | None = None
    """None for a landing zone."""


@dataclass(frozen=True, slots=True)
class PythonCall:
    table: TableName

    file: str
    """Relative to the project."""

    source: str

    inputs: tuple[PythonInput, ...]
    """All that the code may read."""

    values: RunValues
    """With `vars` of the project and of the command line."""

    strategy: str
