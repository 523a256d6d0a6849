"""The result of a unit test: expected rows compared with those that the query returned."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from tidegate.project.unit_test_files import UnitTest
from tidegate.quality import plain

__all__ = [
    "DifferingRow",
    "RowComparison",
    "RowDifference",
    "UnitTestReport",
    "UnitTestResult",
    "compare_rows",
    "differences",
]

Row = tuple[Any, ...]
_ROUNDING = 1e-9
"""Sums of floating numbers differ by as much when the same rows are added in another order."""
_MOST_ALIKE = 200
"""So many rows on a side are looked through for those that resemble each other."""


@dataclass(frozen=True, slots=True)
class DifferingRow:
    """A row that was expected and the one that came in its place; `columns` are the positions that differ."""

    expected: Row
    actual: Row
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowComparison:
    missing: tuple[Row, ...] = ()
    unexpected: tuple[Row, ...] = ()
    differing: tuple[DifferingRow, ...] = ()
    disordered: bool = False
    """All rows are there, but not in this order; `differing` are then the rows at the same place."""

    @property
    def none(self) -> bool:
        return not (self.missing or self.unexpected or self.differing)


def compare_rows(
    expected: Sequence[Row], actual: Sequence[Row], key: Collection[int] = (), ordered: bool = False
) -> RowComparison:
    """Duplicates count, NULL equals NULL, floating numbers may differ by rounding. `key`: positions of the columns by
    that identify a row; without them a row is paired with the one that resembles it most."""
    left, right = _unmatched(expected, actual)
    if not left and not right:
        return _in_order(expected, actual) if ordered else RowComparison()
    pairs = sorted(_paired(left, right, tuple(key)))
    paired_left, paired_right = {at for at, _ in pairs}, {at for _, at in pairs}
    return RowComparison(
        missing=tuple(row for at, row in enumerate(left) if at not in paired_left),
        unexpected=tuple(row for at, row in enumerate(right) if at not in paired_right),
        differing=tuple(DifferingRow(left[i], right[j], _differing(left[i], right[j])) for i, j in pairs),
    )


def _in_order(expected: Sequence[Row], actual: Sequence[Row]) -> RowComparison:
    pairs = (DifferingRow(one, other, _differing(one, other)) for one, other in zip(expected, actual, strict=True))
    moved = tuple(pair for pair in pairs if pair.columns)
    return RowComparison(differing=moved, disordered=bool(moved))


def _unmatched(expected: Sequence[Row], actual: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """What is left when equal rows are taken away from both sides, one for one."""
    counts = Counter(map(_comparable_value, actual))
    left = []
    for row in expected:
        if counts[_comparable_value(row)]:
            counts[_comparable_value(row)] -= 1
        else:
            left.append(row)
    right = []
    for row in reversed(actual):
        if counts[_comparable_value(row)]:
            counts[_comparable_value(row)] -= 1
            right.append(row)
    right.reverse()
    if not any(isinstance(value, float) for row in left for value in row):
        return left, right
    return _without_near(left, right)


def _without_near(left: list[Row], right: list[Row]) -> tuple[list[Row], list[Row]]:
    unmatched = []
    for row in left:
        near = next((at for at, other in enumerate(right) if not _differing(row, other)), None)
        if near is None:
            unmatched.append(row)
        else:
            right = [*right[:near], *right[near + 1 :]]
    return unmatched, right


def _paired(left: Sequence[Row], right: Sequence[Row], key: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Positions in both lists of rows that are about the same thing."""
    if not key:
        yield from _alike(left, right)
        return
    positions: dict[Hashable, list[int]] = defaultdict(list)
    for at, row in enumerate(right):
        positions[_comparable_value([row[i] for i in key])].append(at)
    for at, row in enumerate(left):
        if others := positions[_comparable_value([row[i] for i in key])]:
            yield at, others.pop(0)


def _alike(left: Sequence[Row], right: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """The most alike first; half of the columns must be the same."""
    if max(len(left), len(right)) > _MOST_ALIKE:
        return
    scored = []
    for i, row in enumerate(left):
        for j, other in enumerate(right):
            same = len(row) - len(_differing(row, other))
            if same and same * 2 >= len(row):
                scored.append((-same, i, j))
    taken_left: set[int] = set()
    taken_right: set[int] = set()
    for _, i, j in sorted(scored):
        if i not in taken_left and j not in taken_right:
            taken_left.add(i)
            taken_right.add(j)
            yield i, j


def _differing(one: Row, other: Row) -> tuple[int, ...]:
    return tuple(at for at, (a, b) in enumerate(zip(one, other, strict=True)) if not _equal(a, b))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return _comparable_value(one) == _comparable_value(other) or math.isclose(one, other, rel_tol=_ROUNDING)
    return _comparable_value(one) == _comparable_value(other)


def _comparable_value(value: Any) -> Hashable:
    """Equal for equal values: every NaN is the same one, a zero has no sign, the order of a map's keys is nothing."""
    if isinstance(value, Mapping):
        return frozenset((_comparable_value(key), _comparable_value(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_comparable_value, value))
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    # 1 and True are equal to Python.
    return (type(value).__name__, value) if isinstance(value, bool | Decimal) else value


ShownRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowDifference:
    expected: ShownRow
    actual: ShownRow
    columns: tuple[str, ...]
    """Those in which the two rows differ."""


@dataclass(frozen=True, slots=True)
class UnitTestResult:
    model: str
    name: str
    status: str
    """passed, failed, or error where the query could not run."""

    duration_ms: int
    file: str
    line: int
    description: str = ""
    columns: tuple[str, ...] = ()
    """Those that were compared."""

    expected_rows: int | None = None
    actual_rows: int | None = None
    missing: tuple[ShownRow, ...] = ()
    unexpected: tuple[ShownRow, ...] = ()
    differing: tuple[RowDifference, ...] = ()
    disordered: bool = False
    """The rows are right and their order is not; `differing` are then the rows at the same place."""

    error: str | None = None
    where: str | None = None
    remedy: str | None = None

    @classmethod
    def of(cls, test: UnitTest, model: str, status: str, duration_ms: int, **more: Any) -> UnitTestResult:
        place = test.place
        return cls(model, test.name, status, duration_ms, place.file, place.line, test.description, **more)

    def document(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class UnitTestReport:
    results: tuple[UnitTestResult, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        return all(result.status == "passed" for result in self.results)

    @property
    def exit_code(self) -> int:
        return 0 if self.passed else 1

    def document(self) -> dict[str, Any]:
        return {
            "status": "success" if self.passed else "failed",
            "tests": [result.document() for result in self.results],
            "duration_ms": round(self.seconds * 1000),
        }


def differences(columns: Sequence[str], comparison: RowComparison) -> dict[str, Any]:
    """The fields of a result that describe how the rows differ."""

    def record(row: Sequence[Any]) -> ShownRow:
        return dict(zip(columns, plain(list(row)), strict=True))

    return {
        "missing": tuple(map(record, comparison.missing)),
        "unexpected": tuple(map(record, comparison.unexpected)),
        "differing": tuple(
            RowDifference(record(pair.expected), record(pair.actual), tuple(columns[at] for at in pair.columns))
            for pair in comparison.differing
        ),
        "disordered": comparison.disordered,
    }
