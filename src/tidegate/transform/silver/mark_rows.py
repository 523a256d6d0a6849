"""Rows of bronze → silver columns, and for each row at which stage it fails and why: transform, cast, constraint.

One projection after the other, each over the row alone, so nothing is shuffled and no row waits for another:

1. flatten: each silver column as text, out of a column of bronze or of the JSON in it
2. transform: `transformLogic` over those texts
3. cast, where null-like texts become NULL
4. the first stage at which a condition fails, and then, for the few rows that fail, every failure of that stage
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.contracts.ingestion import DEFAULT_NULL_VALUES, DeleteIndicator, SilverColumn, SilverRules
from tidegate.names import literal, quote
from tidegate.transform.silver.json_text import JsonPaths, group_paths
from tidegate.transform.silver.row_logic import check_logic, guarded, guarded_text, inputs_of, shown_inputs
from tidegate.transform.silver.silver_frame import (
    CAST,
    CONSTRAINT,
    DELETED,
    FAILURE_TYPE,
    FAILURES,
    META,
    SHOWN,
    STAGE,
    TEXTS,
    TRANSFORM,
    any_condition,
    as_text,
    failure,
    failures,
    shown,
)
from tidegate.transform.silver.text_casts import BOOLEANS, ColumnCast, column_cast
from tidegate.transform.silver.value_rules import ValueRule, column_rules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["CastRows", "ColumnPlan", "FailurePlace", "cast_rows", "mark_rows"]

_STAGES = (TRANSFORM, CAST, CONSTRAINT)

_NEVER_VALUES = frozenset(value.strip() for value in DEFAULT_NULL_VALUES)
"""Texts that only floating types and text would take for a value."""


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """One silver column on its way, by the names of its columns in the projections."""

    column: SilverColumn
    number: int
    cast: ColumnCast
    rules: tuple[ValueRule, ...]
    inputs: tuple[str, ...] = ()
    """The silver columns that its logic reads."""

    null_values: tuple[str, ...] = ()
    lost: str | None = None
    """The column that says that the JSON it comes from cannot be read."""

    fails_at: frozenset[str] = frozenset(_STAGES)
    """Those at which a row may fail because of it."""

    @property
    def flat(self) -> str:
        return quote(self.column.name)

    @property
    def logic(self) -> str:
        return f"__logic_{self.number}"

    @property
    def raw(self) -> str:
        """As text, before null-like texts are replaced."""
        return f"__raw_{self.number}" if self.column.transform else self.flat

    @property
    def parsed(self) -> str | None:
        return f"__parsed_{self.number}" if self.cast.type.is_nested else None

    @property
    def value(self) -> str:
        return f"__value_{self.number}"

    @property
    def value_text(self) -> str:
        return as_text(self.value, self.cast.type.kind)

    @property
    def is_null_like(self) -> str:
        return _is_null_like(self.raw, self.null_values)

    @property
    def cast_value(self) -> str:
        """What Spark makes of the text. Text that means NULL is looked for first only where the type would take it for
        a value; else where the cast fails."""
        value = self.cast.read(self.raw, self.parsed).cast
        is_taken = not self.cast.can_fail or self.cast.type.is_floating or self.cast.type.kind == "variant"
        if self.parsed is None and (is_taken or not _NEVER_VALUES.issuperset(self.null_values) or self.cast.length):
            return f"CASE WHEN {self.is_null_like} THEN NULL ELSE {value} END"
        return value

    @property
    def is_right(self) -> str | None:
        """The condition that the value, if it has one, is what the text says; None: it always is."""
        is_right = self.cast.read(self.raw, self.parsed).is_right
        return None if is_right is None else is_right(self.value)

    @property
    def right_value(self) -> str:
        return self.value if self.is_right is None else f"CASE WHEN {self.is_right} THEN {self.value} END"

    def transform_failures(self) -> Iterator[tuple[str, str]]:
        """Conditions, each with its failure."""
        name, logic = self.column.name, self.column.transform
        if TRANSFORM not in self.fails_at:
            return
        if self.lost is not None:
            source = quote(f"{self.lost}_text")
            path = literal(f" is not JSON in which {'.'.join(self.column.origin[1:])} can be looked up")
            message = f"concat({shown(source)}, {path})"
            yield self.lost, failure(TRANSFORM, name, "lineage", message, shown(source))
        if logic is not None:
            where, value = shown_inputs(self.inputs)
            written = logic if len(logic) <= 200 else logic[:199] + "…"
            message = f"concat({literal(f'the transformLogic {written} fails')}, {where})"
            yield f"{self.logic} IS NULL", failure(TRANSFORM, name, "transformLogic", message, value)

    def cast_failures(self) -> Iterator[tuple[str, str]]:
        if self.cast.can_fail and CAST in self.fails_at:
            message = f"concat({_QUOTE}, {shown(self.raw)}, {_QUOTE}, {literal(f' {self.cast.complaint}')})"
            condition = f"({self.value} IS NULL AND {self.raw} IS NOT NULL AND NOT {self.is_null_like})"
            yield condition, failure(CAST, self.column.name, self.column.type, message, shown(self.raw))

    def constraint_failures(self) -> Iterator[tuple[str, str]]:
        quotes = f"{_QUOTE}, " if self.cast.type.is_text else ""
        for rule in self.rules if CONSTRAINT in self.fails_at else ():
            after = literal(f" {rule.complaint}")
            name = literal(f"{self.column.name} ")
            if rule.name in ("primaryKey", "required") and rule.breaks == f"{self.value} IS NULL":
                # Nothing, where the source has no value either.
                written = f"coalesce(concat(' (delivered as ', {_QUOTE}, {_cut(self.raw)}, {_QUOTE}, ')'), '')"
                message, value = f"concat({name}, {literal(rule.complaint)}, {written})", self.raw
            else:
                value = self.value_text
                message = f"concat({name}, {quotes}{shown(value)}, {quotes}{after})"
            yield rule.breaks, failure(CONSTRAINT, self.column.name, rule.name, message, shown(value))


_QUOTE = literal("'")


def _cut(text: str) -> str:
    return f"left({text}, {SHOWN})"


@dataclass(frozen=True, slots=True)
class FailurePlace:
    """Where a row may fail."""

    column: int
    """The number of its plan."""

    stage: str


@dataclass(frozen=True, slots=True)
class CastRows:
    """Rows of bronze after Spark's cast. Nothing is computed yet."""

    frame: DataFrame
    """META, the columns that the plans name, and DELETED."""

    plans: list[ColumnPlan]

    def failing(self) -> dict[FailurePlace, str]:
        """The condition that a row fails there, or that it failed at an earlier stage of the column."""
        found = {}
        for plan in self.plans:
            for stage in _STAGES:
                conditions = [condition for condition, _ in _entries([plan], stage)]
                if stage == CAST and plan.is_right is not None:
                    is_wrong = f"{plan.value} IS NOT NULL AND NOT {plan.is_right}"
                    conditions.append(is_wrong if plan.column.primary_key else _unless_deleted(is_wrong))
                if conditions:
                    found[FailurePlace(plan.number, stage)] = any_condition(conditions)
        return found


def mark_rows(frame: DataFrame, rules: SilverRules, known: Collection[FailurePlace] | None = None) -> DataFrame:
    """The silver columns, typed and NULL where they failed, META, STAGE, FAILURES, TEXTS and DELETED.

    `known`: no row fails anywhere else. Of a row that is valid so far STAGE, FAILURES and TEXTS are NULL. Raises
    QueryError for a contract that cannot be followed, before anything is computed.
    """
    rows = cast_rows(frame, rules)
    values = {plan.value: f"{plan.right_value} AS {plan.value}" for plan in rows.plans}
    right = rows.frame.selectExpr(*(values.get(name, quote(name)) for name in rows.frame.columns))
    plans = rows.plans
    if known is not None:
        plans = [replace(plan, fails_at=frozenset(p.stage for p in known if p.column == plan.number)) for plan in plans]
    marked = right.selectExpr("*", f"{_stage(plans)} AS {STAGE}")
    return marked.selectExpr(*_result(plans))


def cast_rows(frame: DataFrame, rules: SilverRules, beside: Sequence[str] = ()) -> CastRows:
    """`beside`: expressions over bronze, with names that begin with `_`, which the rows are to have too. Raises
    QueryError as `mark_rows` does."""
    session_zone = frame.sparkSession.conf.get("spark.sql.session.timeZone", None) or "UTC"
    bronze = {name.lower(): name for name in frame.columns}
    groups = group_paths(
        [
            (source, *column.origin[1:])
            for column in rules.columns
            if len(column.origin) > 1 and (source := bronze.get(column.origin[0].lower()))
        ]
    )
    plans = _plans(rules, session_zone, bronze, groups)
    flat = _flattened(frame, rules, plans, bronze, groups, beside)
    check_logic(flat, rules.columns)
    kept = [*(name for name in flat.columns if name.startswith("_")), *(plan.flat for plan in plans)]
    rows = (
        _logic(flat, plans)
        .selectExpr(*kept, *_logic_names(plans), *(_raw(plan) for plan in plans if plan.column.transform))
        .selectExpr("*", *_parsed(plans))
        .selectExpr(
            "*",
            *(f"{plan.cast_value} AS {plan.value}" for plan in plans),
            f"{_deleted(rules, plans, bronze)} AS {DELETED}",
        )
    )
    return CastRows(rows, plans)


def _plans(rules: SilverRules, session_zone: str, bronze: dict[str, str], groups: list[JsonPaths]) -> list[ColumnPlan]:
    plans = []
    names = [column.name for column in rules.columns]
    for number, column in enumerate(rules.columns):
        cast = column_cast(column, session_zone)
        group = _group(column, bronze, groups)
        plans.append(
            ColumnPlan(
                column,
                number,
                cast,
                tuple(column_rules(cast, f"__value_{number}")),
                inputs_of(column.transform, names) if column.transform else (),
                tuple(dict.fromkeys(value.strip() for value in rules.null_values)),
                None if group is None else f"__lost_{group}",
            )
        )
    return plans


def _group(column: SilverColumn, bronze: dict[str, str], groups: list[JsonPaths]) -> int | None:
    """The number of the parse that answers the column's path."""
    source = bronze.get(column.origin[0].lower()) if len(column.origin) > 1 else None
    if source is None:
        return None
    return next(n for n, group in enumerate(groups) if group.source == source and group.answers(column.origin[1:]))


def _flattened(
    frame: DataFrame,
    rules: SilverRules,
    plans: list[ColumnPlan],
    bronze: dict[str, str],
    groups: list[JsonPaths],
    beside: Sequence[str],
) -> DataFrame:
    """META, the silver columns as text, and the columns that report JSON that cannot be read."""
    parsed, lost = [], []
    for number, group in enumerate(groups):
        source, name = f"CAST({quote(group.source)} AS STRING)", f"__json_{number}"
        read = f"CASE WHEN {_is_null_like(source, rules.null_values)} THEN NULL ELSE {source} END"
        parsed += [f"{read} AS __lost_{number}_text", f"{group.parsed(read)} AS {name}"]
        lost += [f"__lost_{number}_text", f"{group.is_lost(name, f'__lost_{number}_text')} AS __lost_{number}"]
    columns = []
    for plan in plans:
        origin = plan.column.origin
        source_name = bronze.get(origin[0].lower()) if origin else None
        if source_name is None:
            value = "CAST(NULL AS STRING)"
        elif plan.lost is not None:
            number = int(plan.lost.removeprefix("__lost_"))
            value = groups[number].value(f"__json_{number}", origin[1:])
        else:
            value = f"CAST({quote(source_name)} AS STRING)"
        columns.append(f"{value} AS {plan.flat}")
    meta = [name if name in bronze.values() else f"CAST(NULL AS STRING) AS {name}" for name in META]
    indicator = _bronze_indicator(rules, bronze)
    if indicator is not None:
        meta.append(f"CAST({quote(indicator)} AS STRING) AS __indicator")
    source_frame = frame.selectExpr("*", *parsed) if parsed else frame
    return source_frame.selectExpr(*meta, *lost, *beside, *columns)


def _logic(flat: DataFrame, plans: list[ColumnPlan]) -> DataFrame:
    logic = [f"{guarded(plan.column.transform)} AS {plan.logic}" for plan in plans if plan.column.transform]
    return flat.selectExpr("*", *logic) if logic else flat


def _logic_names(plans: list[ColumnPlan]) -> list[str]:
    return [plan.logic for plan in plans if plan.column.transform]


def _raw(plan: ColumnPlan) -> str:
    return f"{guarded_text(plan.logic)} AS {plan.raw}"


def _is_null_like(text: str, null_values: tuple[str, ...]) -> str:
    """Only a short text, or one with blanks around it, is compared with each: most are not."""
    values = [value.strip() for value in null_values]
    if not values:
        return "false"
    may_be = " OR ".join(
        [
            f"octet_length({text}) <= {max(len(value.encode()) for value in values)}",
            *(f"{side}({text}, ' ')" for side in ("startswith", "endswith")),
        ]
    )
    return f"(({may_be}) AND trim({text}) IN ({', '.join(map(literal, values))}))"


def _bronze_indicator(rules: SilverRules, bronze: dict[str, str]) -> str | None:
    """The column of bronze that says that a row is a deletion; a silver column of the name goes before it."""
    if rules.indicator is None:
        return None
    name = rules.indicator.column.lower()
    return None if name in {column.name.lower() for column in rules.columns} else bronze.get(name)


def _deleted(rules: SilverRules, plans: list[ColumnPlan], bronze: dict[str, str]) -> str:
    """The condition that the row is a delete signal."""
    conditions = ["_op = 'delete'"]
    if rules.indicator is not None:
        name = rules.indicator.column.lower()
        text = next((plan.raw for plan in plans if plan.column.name.lower() == name), None)
        if text is None and _bronze_indicator(rules, bronze) is not None:
            text = "__indicator"
        if text is not None:
            listed = ", ".join(map(literal, _indicated(rules.indicator)))
            conditions.append(f"lower(trim({text})) IN ({listed})")
    return f"coalesce({' OR '.join(f'coalesce({one}, false)' for one in conditions)}, false)"


def _indicated(indicator: DeleteIndicator) -> list[str]:
    """The values that mean deleted, as lower-case text; true and false in each spelling that a boolean has."""
    values: list[str] = []
    for value in indicator.values:
        spelt: Any = BOOLEANS.get(value) if isinstance(value, bool) else (str(value).strip().lower(),)
        values += spelt
    return list(dict.fromkeys(values))


def _parsed(plans: list[ColumnPlan]) -> list[str]:
    parsed = []
    for plan in plans:
        if plan.parsed:
            text = f"CASE WHEN {plan.is_null_like} THEN NULL ELSE {plan.raw} END"
            parsed.append(f"{plan.cast.parsed(text)} AS {plan.parsed}")
    return parsed


def _stage(plans: list[ColumnPlan]) -> str:
    """Of a row that deletes, only the key must be valid."""
    keys = [plan for plan in plans if plan.column.primary_key]
    ordinary = _first_stage(
        [condition for plan in plans for condition, _ in plan.transform_failures()],
        [condition for plan in plans for condition, _ in plan.cast_failures()],
        [condition for plan in plans for condition, _ in plan.constraint_failures()],
    )
    deleting = _first_stage(
        [condition for plan in keys for condition, _ in plan.transform_failures()],
        [condition for plan in keys for condition, _ in plan.cast_failures()],
        [f"{plan.value} IS NULL" for plan in keys if CONSTRAINT in plan.fails_at],
    )
    return f"CASE WHEN {DELETED} THEN {deleting} ELSE {ordinary} END"


def _first_stage(transform: list[str], cast: list[str], constraint: list[str]) -> str:
    stages = ((transform, TRANSFORM), (cast, CAST), (constraint, CONSTRAINT))
    whens = [f"WHEN {any_condition(conditions)} THEN '{stage}'" for conditions, stage in stages if conditions]
    return f"CASE {' '.join(whens)} END" if whens else "CAST(NULL AS STRING)"


def _result(plans: list[ColumnPlan]) -> list[str]:
    # One stage at least, so that the texts have a type.
    stages = [stage for stage in _STAGES if any(stage in plan.fails_at for plan in plans)] or [TRANSFORM]
    failed = " ".join(f"WHEN '{stage}' THEN {failures(_entries(plans, stage))}" for stage in stages)
    as_was = " ".join(f"WHEN '{stage}' THEN {_texts(plans, stage)}" for stage in stages)
    return [
        *(f"{_final(plan)} AS {plan.flat}" for plan in plans),
        *META,
        STAGE,
        f"CASE {STAGE} {failed} ELSE CAST(NULL AS {FAILURE_TYPE}) END AS {FAILURES}",
        f"CASE {STAGE} {as_was} END AS {TEXTS}",
        DELETED,
    ]


def _entries(plans: list[ColumnPlan], stage: str) -> list[tuple[str, str]]:
    entries = []
    for plan in plans:
        if stage == CONSTRAINT:
            found = list(plan.constraint_failures())
        else:
            found = list(plan.transform_failures() if stage == TRANSFORM else plan.cast_failures())
        for condition, entry in found:
            is_about_key = stage != CONSTRAINT or condition == f"{plan.value} IS NULL"
            entries.append(
                (condition if is_about_key and plan.column.primary_key else _unless_deleted(condition), entry)
            )
    return entries


def _unless_deleted(condition: str) -> str:
    return f"NOT {DELETED} AND ({condition})"


def _texts(plans: list[ColumnPlan], stage: str) -> str:
    """The row as it was at the stage; its values as text once they are cast."""
    pairs = []
    for plan in plans:
        text = {TRANSFORM: plan.flat, CAST: plan.raw, CONSTRAINT: plan.value_text}[stage]
        pairs.append(f"{literal(plan.column.name)}, {text}")
    return f"named_struct({', '.join(pairs)})"


def _final(plan: ColumnPlan) -> str:
    """A value of a row that deletes which breaks a constraint is not kept either."""
    broken = [rule.breaks for rule in plan.rules if rule.breaks != f"{plan.value} IS NULL"]
    if plan.column.primary_key or not broken:
        return plan.value
    return f"CASE WHEN {DELETED} AND ({any_condition(broken)}) THEN NULL ELSE {plan.value} END"
