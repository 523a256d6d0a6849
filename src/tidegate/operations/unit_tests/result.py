"""What came of a unit test, as values that can be shown and stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidegate.operations.unit_tests.rows import Difference
from tidegate.project.unit_tests import UnitTest
from tidegate.quality import plain

__all__ = ["RowDifference", "UnitTestReport", "UnitTestResult", "differences"]

ShownRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowDifference:
    """`columns`: those in which the two rows differ."""

    expected: ShownRow
    actual: ShownRow
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitTestResult:
    """`status`: passed, failed, or error where the query could not run. `columns` are those that were compared.

    `disordered`: the rows are right and their order is not; `differing` are then the rows at the same place.
    """

    model: str
    name: str
    status: str
    duration_ms: int
    file: str
    line: int
    description: str = ""
    columns: tuple[str, ...] = ()
    expected_rows: int | None = None
    actual_rows: int | None = None
    missing: tuple[ShownRow, ...] = ()
    unexpected: tuple[ShownRow, ...] = ()
    differing: tuple[RowDifference, ...] = ()
    disordered: bool = False
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


def differences(columns: Sequence[str], found: Difference) -> dict[str, Any]:
    """The fields of a result that say how the rows differ."""

    def shown(row: Sequence[Any]) -> ShownRow:
        return dict(zip(columns, plain(list(row)), strict=True))

    return {
        "missing": tuple(map(shown, found.missing)),
        "unexpected": tuple(map(shown, found.unexpected)),
        "differing": tuple(
            RowDifference(shown(pair.expected), shown(pair.actual), tuple(columns[at] for at in pair.columns))
            for pair in found.differing
        ),
        "disordered": found.disordered,
    }
