"""The rows of bronze, divided into those that silver takes and those that are refused, with counts that add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidegate.amounts import plural
from tidegate.contracts.ingestion import SilverColumn, SilverRules
from tidegate.errors import FailureKind, QualityError, QueryError, TidegateError
from tidegate.names import literal, quote
from tidegate.spark.session import temporary_conf
from tidegate.spark.spark_errors import read_failure
from tidegate.transform.silver.mark_rows import mark_rows
from tidegate.transform.silver.row_uniqueness import (
    are_taken,
    deduplicated_by,
    flag_repeated,
    keep_newest,
    taken_back,
    text_of,
    unique_columns,
    with_standing,
)
from tidegate.transform.silver.silver_frame import (
    CAST,
    CONSTRAINT,
    DELETED,
    FAILURES,
    GONE,
    META,
    QUALITY,
    STAGE,
    STAGES,
    TEXTS,
    TRANSFORM,
    UNIQUE,
)
from tidegate.transform.silver.single_pass import judges_rows_alone, single_pass
from tidegate.transform.silver.sql_rules import (
    ScalarFailure,
    SqlRule,
    flag_rows,
    is_scalar,
    named_rule,
    read_rule,
    scalar_failures,
)
from tidegate.write.staging import persisted_view

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["StageCounts", "ValidatedRows", "validated"]

_MARKS, _JUDGED, _VALID = "__tidegate_silver_marks", "__tidegate_silver_judged", "__tidegate_silver_valid"
_REFUSED = "__tidegate_silver_refused"
_ROUNDS = 5
_LONGEST_METHOD = "spark.sql.codegen.hugeMethodLimit"


@dataclass(frozen=True, slots=True)
class StageCounts:
    """What became of each row that was read."""

    read: int
    valid: int
    quarantined: Mapping[str, int]
    """By stage, in their order."""

    deduplicated: int
    """Valid rows of whose key a newer one came."""

    delete_signals: int

    @property
    def refused(self) -> int:
        return sum(self.quarantined.values())

    def require_sum(self, name: str) -> None:
        found = self.valid + self.refused + self.deduplicated + self.delete_signals
        if found != self.read:
            raise QualityError(
                f"{plural(self.read, 'row')} of {name} were read, and {found} are accounted for: {self.valid} valid, "
                f"{self.refused} quarantined, {self.deduplicated} deduplicated, {self.delete_signals} delete signals",
                where=name,
                remedy="Run again: the rows changed while they were read.",
            )


class ValidatedRows:
    """Frames that live as long as the block of `validated`."""

    def __init__(
        self,
        valid: DataFrame,
        marked: DataFrame | None,
        settle: Callable[[], tuple[DataFrame, StageCounts]],
        failures: tuple[ScalarFailure, ...] = (),
    ) -> None:
        self.valid = valid
        """Silver columns, `_commit_time`, `_sequence` and DELETED: delete signals are among them where the contract
        applies them."""

        self.marked = marked
        """Every row, as `mark_rows` gives it. None where rows are judged while they are written."""

        self.failures = failures
        """Of rules about the whole table: where there is one, the table must not take the rows."""

        self._settle = settle
        self._settled: tuple[DataFrame, StageCounts] | None = None

    @property
    def are_counted(self) -> bool:
        return self._settled is not None

    @property
    def refused(self) -> DataFrame:
        """Computed once. To be asked for when `valid` is written, as the counts are: where rows are judged while they
        are written, that counts them. Raises QualityError where the counts do not add up."""
        return self._outcome()[0]

    @property
    def counts(self) -> StageCounts:
        return self._outcome()[1]

    def _outcome(self) -> tuple[DataFrame, StageCounts]:
        if self._settled is None:
            self._settled = self._settle()
        return self._settled


@dataclass(frozen=True, slots=True)
class _Origin:
    """What every refused row says of where it was refused."""

    contract_id: str
    contract_version: str
    run_id: str
    run_started_at: datetime


@dataclass(frozen=True, slots=True)
class _Summary:
    """Of the marks, from one pass over them."""

    read: int
    by_stage: Mapping[str, int]
    live: int
    """Valid so far, delete signals aside."""

    signals: int
    ranked: int
    """Rows that take part in deduplication."""

    groups: int
    """Keys of those."""

    repeated: frozenset[str]
    """Unique columns with a value twice."""


@contextmanager
def validated(
    session: SparkSession,
    frame: DataFrame,
    rules: SilverRules,
    contract_id: str,
    contract_version: str,
    run_id: str,
    run_started_at: datetime,
    target: str | None,
    *,
    written_once: bool = False,
) -> Iterator[ValidatedRows]:
    """Divide rows of bronze. `target`: SQL of the silver table where there is one; its values of unique columns are
    taken. It must stay as it is while it is written: Spark computes again what read a table that a statement changes.
    `written_once`: one statement will read the valid rows, so they need not be persisted where each is judged alone.

    Raises QueryError for a contract that cannot be followed, before the block begins.
    """
    origin = _Origin(contract_id, contract_version, run_id, run_started_at)
    with ExitStack() as stack:
        stack.enter_context(_short_methods(session))
        if written_once and judges_rows_alone(rules):
            with _explained(rules):
                rows = _divide_while_written(session, stack, frame, rules, origin)
                if rows is not None:
                    yield rows
                    return
        with _explained(rules):
            rows = _divide(session, stack, frame, rules, origin, target)
        yield rows


@contextmanager
def _explained(rules: SilverRules) -> Iterator[None]:
    try:
        yield
    except TidegateError:
        raise
    except Exception as error:
        failure = read_failure(error)
        if failure.kind is not FailureKind.QUERY_REJECTED:
            raise
        raise QueryError(f"the rows of {rules.name} cannot be validated: {failure.message}") from error


def _short_methods(session: SparkSession) -> AbstractContextManager[None]:
    """Java does not compile methods of more bytes, and the expressions of a contract easily make one: Spark then
    splits them. A setting of the project wins."""
    is_set = session.conf.get(_LONGEST_METHOD, None) is not None
    return nullcontext() if is_set else temporary_conf(session, {_LONGEST_METHOD: "8000"})


def _divide_while_written(
    session: SparkSession, stack: ExitStack, frame: DataFrame, rules: SilverRules, origin: _Origin
) -> ValidatedRows | None:
    """None where a key comes twice."""
    rows = single_pass(frame, rules)
    if rows is None:
        return None
    texts = [f"{TEXTS}.{quote(column.name)} AS {quote(column.name)}" for column in rules.columns]

    def settle() -> tuple[DataFrame, StageCounts]:
        judged, by_stage = rows.counts(), dict[str, int]()
        refused = rows.refused(judged.failing).selectExpr(*_refused(rules, origin, texts))
        if judged.failing:
            refused = session.table(stack.enter_context(persisted_view(session, refused, _REFUSED, on_disk=True)))
            by_stage = {row["_stage"]: row["rows"] for row in refused.groupBy("_stage").agg(_count()).collect()}
        quarantined = {stage: by_stage.get(stage, 0) for stage in STAGES}
        counts = StageCounts(rows.read, judged.valid, quarantined, 0, judged.delete_signals)
        counts.require_sum(rules.name)
        return refused, counts

    return ValidatedRows(rows.valid, None, settle)


def _count() -> Column:
    from pyspark.sql import functions as f

    return f.count(f.lit(1)).alias("rows")


def _divide(
    session: SparkSession, stack: ExitStack, frame: DataFrame, rules: SilverRules, origin: _Origin, target: str | None
) -> ValidatedRows:
    marks = mark_rows(frame, rules)
    sql_rules = [read_rule(rule, rules, _VALID) for rule in rules.quality]
    marked = session.table(stack.enter_context(persisted_view(session, marks, _MARKS, on_disk=True)))
    applies = _applies_deletions(rules)
    summary = _summary(marked, rules, applies)
    live = marked.where(f"{STAGE} IS NULL" if applies else f"{STAGE} IS NULL AND NOT {DELETED}").drop(TEXTS)
    has_dropped = summary.ranked > summary.groups
    judged = keep_newest(live, rules) if has_dropped else live.selectExpr("*", f"false AS {GONE}")
    looked_at = [c for c in unique_columns(rules) if target is not None or c.name in summary.repeated]
    base = None
    if looked_at and target is not None and deduplicated_by(rules):
        standing = with_standing(session, judged, rules, looked_at, target)
        base = judged = session.table(
            stack.enter_context(persisted_view(session, standing, f"{_JUDGED}_standing", on_disk=True))
        )
    for column in looked_at:
        judged = flag_repeated(session, judged, rules, column, target, base)
    with named_rule(judged, sql_rules):
        judged, scalar = _judge(session, stack, judged, rules, sql_rules, looked_at, is_costly=has_dropped)
        is_changed = has_dropped or looked_at or sql_rules
        counts = _counts(judged, summary, applies) if is_changed else _unchanged_counts(summary)
    counts.require_sum(rules.name)
    names = [quote(column.name) for column in rules.columns]
    valid = judged.where(f"{STAGE} IS NULL").select(*names, "_commit_time", "_sequence", DELETED)
    early = marked.where(f"{STAGE} IS NOT NULL")
    refused = early.selectExpr(*_refused(rules, origin, [f"{TEXTS}.{name} AS {name}" for name in names]))
    if sum(counts.quarantined[stage] for stage in (UNIQUE, QUALITY)):
        texts = [f"{text_of(column)} AS {quote(column.name)}" for column in rules.columns]
        late = judged.where(f"{STAGE} IS NOT NULL").selectExpr(*_refused(rules, origin, texts))
        refused = refused.unionByName(late)

    def settle() -> tuple[DataFrame, StageCounts]:
        view = stack.enter_context(persisted_view(session, refused, _REFUSED, on_disk=True))
        return session.table(view), counts

    return ValidatedRows(valid, marked, settle, scalar)


def _applies_deletions(rules: SilverRules) -> bool:
    """Whether delete signals compete with the other rows of their key; else they are counted and left out."""
    return rules.deletion is not None and not rules.deletion.inferred and bool(deduplicated_by(rules))


def _judge(
    session: SparkSession,
    stack: ExitStack,
    judged: DataFrame,
    rules: SilverRules,
    sql_rules: Sequence[SqlRule],
    unique: Sequence[SilverColumn],
    is_costly: bool,
) -> tuple[DataFrame, tuple[ScalarFailure, ...]]:
    """The rows after their quality rules, and the failures of those about all rows. What is costly is computed once;
    `unique`: the columns that were looked at."""

    def once(frame: DataFrame, view: str) -> DataFrame:
        return session.table(stack.enter_context(persisted_view(session, frame, view, on_disk=True)))

    if is_costly or unique:
        judged = once(judged, f"{_JUDGED}_rows")
    if not sql_rules:
        return _without_taken(judged, rules, unique, once), ()
    _show(session, stack, judged, rules)
    scalars = [rule for rule in sql_rules if rule.is_select and is_scalar(session, rule, rules)]
    about_rows = [rule for rule in sql_rules if rule not in scalars]
    if about_rows:
        judged = flag_rows(session, judged, rules, about_rows)
        if any(rule.is_select for rule in about_rows):
            judged = once(judged, f"{_JUDGED}_quality")
    judged = _without_taken(judged, rules, unique, once)
    if about_rows:
        _show(session, stack, judged, rules)
    return judged, tuple(failure for rule in scalars for failure in scalar_failures(session, rule))


def _without_taken(
    judged: DataFrame,
    rules: SilverRules,
    unique: Sequence[SilverColumn],
    once: Callable[[DataFrame, str], DataFrame],
) -> DataFrame:
    """The rows without those whose unique value the table's row keeps after all. Each that is refused may give another
    value back; after a few rounds all that took one are refused."""
    is_taken = are_taken(judged, rules, unique)
    taken = judged.where(is_taken).count() if is_taken != "false" else 0
    for number in range(_ROUNDS):
        if not taken:
            return judged
        before, last = taken, number == _ROUNDS - 1
        judged = once(taken_back(judged, rules, unique, everything=last), f"{_JUDGED}_taken_{number}")
        taken = judged.where(is_taken).count()
        if taken == before:
            return judged
    return judged


def _show(session: SparkSession, stack: ExitStack, judged: DataFrame, rules: SilverRules) -> None:
    """The valid rows so far, as the view that quality rules read."""
    names = [quote(column.name) for column in rules.columns]
    rows = judged.where(f"{STAGE} IS NULL AND NOT {DELETED} AND NOT {GONE}")
    rows.select(*names, *META).createOrReplaceTempView(_VALID)
    stack.callback(_hide, session)


def _hide(session: SparkSession) -> None:
    with suppress(Exception):  # the session may be gone; the view goes with it
        session.catalog.dropTempView(_VALID)


def _summary(marked: DataFrame, rules: SilverRules, applies: bool) -> _Summary:
    alive = f"{STAGE} IS NULL AND NOT {DELETED}"
    ranked = f"{STAGE} IS NULL" if applies else alive
    keys = deduplicated_by(rules)
    aggregates = [
        "count(*) AS read",
        *(f"count_if({STAGE} = '{stage}') AS {stage}" for stage in (TRANSFORM, CAST, CONSTRAINT)),
        f"count_if({alive}) AS live",
        f"count_if({STAGE} IS NULL AND {DELETED}) AS signals",
        f"count_if({ranked}) AS ranked",
        *_distinct_keys(keys, ranked),
    ]
    uniques = unique_columns(rules)
    for number, column in enumerate(uniques):
        held = f"CASE WHEN {alive} THEN {quote(column.name)} END"
        aggregates += [f"count({held}) AS held_{number}", f"count(DISTINCT {held}) AS values_{number}"]
    row = marked.selectExpr(*aggregates).first()
    assert row is not None
    return _Summary(
        read=row["read"],
        by_stage={stage: row[stage] for stage in (TRANSFORM, CAST, CONSTRAINT)},
        live=row["live"],
        signals=row["signals"],
        ranked=row["ranked"] if keys else 0,
        groups=row["groups"] if keys else 0,
        repeated=frozenset(c.name for n, c in enumerate(uniques) if row[f"values_{n}"] < row[f"held_{n}"]),
    )


def _distinct_keys(keys: Sequence[str], ranked: str) -> list[str]:
    # A struct that is NULL for rows that do not take part: count(DISTINCT a, b) would leave out NULL in either.
    fields = ", ".join(map(quote, keys))
    return [f"count(DISTINCT CASE WHEN {ranked} THEN struct({fields}) END) AS groups"] if keys else []


def _unchanged_counts(summary: _Summary) -> StageCounts:
    quarantined = {stage: summary.by_stage.get(stage, 0) for stage in STAGES}
    return StageCounts(summary.read, summary.live, quarantined, 0, summary.signals)


def _counts(judged: DataFrame, summary: _Summary, applies: bool) -> StageCounts:
    row = judged.selectExpr(
        f"count_if({STAGE} IS NULL AND NOT {DELETED}) AS valid",
        f"count_if({STAGE} IS NULL AND {DELETED}) AS signals",
        f"count_if({GONE}) AS gone",
        f"count_if({STAGE} = '{UNIQUE}') AS {UNIQUE}",
        f"count_if({STAGE} = '{QUALITY}') AS {QUALITY}",
    ).first()
    assert row is not None
    late = {UNIQUE: row[UNIQUE], QUALITY: row[QUALITY]}
    return StageCounts(
        read=summary.read,
        valid=row["valid"],
        quarantined={stage: {**summary.by_stage, **late}[stage] for stage in STAGES},
        deduplicated=summary.ranked - summary.groups - row["gone"],
        delete_signals=row["signals"] if applies else summary.signals,
    )


def _refused(rules: SilverRules, origin: _Origin, texts: Sequence[str]) -> list[str]:
    """`texts`: the silver columns as text."""
    microseconds = (origin.run_started_at - datetime.fromtimestamp(0, origin.run_started_at.tzinfo)) // timedelta(
        microseconds=1
    )
    return [
        *texts,
        f"transform({FAILURES}, f -> f.message) AS _reasons",
        f"array_distinct(transform({FAILURES}, f -> f.column)) AS _columns",
        f"{literal(origin.run_id)} AS _run_id",
        f"timestamp_micros({microseconds}) AS _quarantined_at",
        f"{STAGE} AS _stage",
        f"{FAILURES} AS _failures",
        "_source_file",
        "_source_row",
        f"{literal(origin.contract_id)} AS _contract_id",
        f"{literal(origin.contract_version)} AS _contract_version",
        "_op",
        "_commit_time",
        "_sequence",
    ]
