"""The port between the life of a run and the building of its tables. Spark builds them (`build/spark_builder.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tidegate.checks.check_values import Check
from tidegate.compiler.compiled import CompiledModel, RunValues
from tidegate.config import Settings
from tidegate.errors import TidegateError
from tidegate.lake.branch_catalog import BranchCatalog
from tidegate.lake.metadata import TableMetadata
from tidegate.planner.cost_rule import JvmState
from tidegate.planner.decide import Decision
from tidegate.planner.make_plan import ModelPlan
from tidegate.project.landing_files import ZoneFile
from tidegate.results import CheckResult
from tidegate.runs.control.limits import Deadline
from tidegate.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.runs.context import Phases, RunContext
    from tidegate.write.request import WriteOutcome

__all__ = ["Builder", "ModelAttempt", "OpenBuilder", "TableWork"]


@dataclass
class ModelAttempt:
    """One try at one model. The builder records here what it does, so that a failure loses none of it."""

    run: RunContext
    model: CompiledModel
    deadline: Deadline
    phases: Phases
    values: RunValues
    """What the query and its checks are bound to."""

    decision: Decision | None = None
    """What is done. The builder replaces it where that turns out to be something else than was planned."""

    watermark: str | None = None
    """The value that the query was given."""

    sql: str = ""
    """The query that runs, to explain its failure by."""

    files: tuple[ZoneFile, ...] = ()
    """The landing files that it reads, to explain its failure by."""

    constraint_results: tuple[CheckResult, ...] = ()
    """Of the constraints that rows were checked against while they were written."""

    stages: Mapping[str, int] = field(default_factory=dict)
    """What became of the rows that a contract's silver table read."""

    failed_rules: tuple[CheckResult, ...] = ()
    """Rules about a whole table that fail, so that nothing is written."""


class TableWork(Protocol):
    """The work on one model's table on the branch."""

    def build(self, facts: ModelPlan) -> WriteOutcome:
        """Rows and progress, or the view. Whatever is raised, the caller restores the table."""

    def answer(self, checks: Sequence[Check], before: TableMetadata | None) -> tuple[CheckResult, ...]:
        """A result for each check. `before`: the table that this run added rows to; None where all are this run's."""


class Builder(Protocol):
    """Builds the tables of one run, several at a time."""

    @property
    def jvm_state(self) -> JvmState:
        """What its JVM has built so far."""

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

    def open(self, attempt: ModelAttempt) -> AbstractContextManager[TableWork]:
        """Work that is interrupted when the run is cancelled or the deadline passes."""

    def answer_published(
        self, run: RunContext, model: CompiledModel, checks: Sequence[Check]
    ) -> tuple[CheckResult, ...]:
        """A result for each check, of the table as main has it."""

    def release(self) -> None:
        """Drop what was kept for several models: the run has built its last one."""

    def session_factory(self, catalog: BranchCatalog) -> Callable[[str], SparkSession] | None:
        """Gives a session on a branch, for maintenance; None where there is none."""


OpenBuilder = Callable[[Settings, Callable[[str], None], Work], Builder]
"""Starts what builds tables, for so much work. The second argument receives lines about the start."""
