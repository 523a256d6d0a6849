"""The port between the life of a run and the building of its tables. Spark builds them (`build/spark_builder.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from tidegate.checks.values import Check
from tidegate.compiler.compiled import CompiledModel, RunValues
from tidegate.config import Settings
from tidegate.errors import TidegateError
from tidegate.lake.branch_catalog import BranchCatalog
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import Progress
from tidegate.planner.decide import Decision
from tidegate.planner.make_plan import Facts
from tidegate.results import CheckResult
from tidegate.runs.control.limits import Deadline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.runs.context import Phases, RunContext
    from tidegate.write.request import WriteOutcome

__all__ = ["Builder", "OpenBuilder", "TableWork"]


class TableWork(Protocol):
    """The work on one model's table on the branch. What `build` learns is here also where it fails."""

    decision: Decision | None
    """What is really done, which may turn out otherwise than it was planned."""

    watermark: str | None
    """The value that the query was given."""

    values: RunValues
    """What the query and its checks are bound to."""

    constraint_results: tuple[CheckResult, ...]
    """Of the constraints that rows were held to while they were written."""

    def build(self, facts: Facts) -> WriteOutcome:
        """Rows and progress, or the view. Whatever is raised, the caller restores the table."""

    def answer(self, checks: Sequence[Check], before: TableMetadata | None) -> tuple[CheckResult, ...]:
        """A result for each check. `before`: the table that this run added rows to; None where all are this run's."""

    def set_progress(self, progress: Progress) -> None:
        """Change what the table records, and none of its rows."""


class Builder(Protocol):
    """Builds the tables of one run, several at a time."""

    @property
    def died(self) -> bool:
        """Nothing can be built until `restart`."""

    @property
    def why(self) -> str:
        """Why it died."""

    def died_of(self, error: BaseException) -> bool:
        """Whether `error` comes from a builder that has died, or is dying."""

    def restart(self) -> bool:
        """True where it lives, or lives again; False where it has died too often."""

    def error(self, message: str) -> TidegateError:
        """The error of a model under which it died."""

    def open(
        self, run: RunContext, model: CompiledModel, phases: Phases, deadline: Deadline
    ) -> AbstractContextManager[TableWork]:
        """Work that is interrupted when the run is cancelled or the deadline passes."""

    def answer_published(
        self, run: RunContext, model: CompiledModel, checks: Sequence[Check]
    ) -> tuple[CheckResult, ...]:
        """A result for each check, of the table as main has it."""

    def session_factory(self, catalog: BranchCatalog) -> Callable[[str], SparkSession] | None:
        """Gives a session on a branch, for maintenance; None where there is none."""


OpenBuilder = Callable[[Settings, Callable[[str], None]], Builder]
"""Starts what builds tables. The second argument receives lines about the start."""
