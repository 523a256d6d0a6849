"""Runs unit tests of models: a query over given rows instead of tables. The lake is neither read nor written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tidegate.compiler import bind, compile_from_disk
from tidegate.compiler.compiled import Compiled, CompiledModel, RunValues
from tidegate.compiler.external_tables import ExternalTables
from tidegate.compiler.unit_test_inputs import UnitInputs
from tidegate.config import Settings
from tidegate.datatypes import STRING, VOID, Column, DataType, from_json
from tidegate.errors import ProjectError, QueryError, SourceError, TidegateError
from tidegate.lake import is_initialized, open_catalog
from tidegate.names import TableName, quote
from tidegate.operations.unit_tests.code_result import code_result
from tidegate.operations.unit_tests.given_rows import Input, InputViews, input_of, meant, rows_sql
from tidegate.operations.unit_tests.unit_test_result import UnitTestReport, UnitTestResult, compare_rows, differences
from tidegate.planner.selection import read_states
from tidegate.planner.selection import select as select_models
from tidegate.project import LoadedProject, Materialized
from tidegate.project.unit_test_files import DeclaredRows, UnitTest
from tidegate.python_models.code_places import with_place
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.runs.build.result_frame import masked_frame
from tidegate.runs.clock import Clock, SystemClock
from tidegate.spark.session import open_spark
from tidegate.spark.work import Work
from tidegate.transform.frames import explain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["run_unit_tests", "untyped_models"]

_MOST_ROWS = 10_000
_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
"""Compiling a query and spreading it over cores takes longer than to answer it for ten rows."""


def run_unit_tests(
    settings: Settings,
    select: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    on_result: Callable[[UnitTestResult], None] = lambda result: None,
    notify: Callable[[str], None] = lambda line: None,
    root: SparkSession | None = None,
    clock: Clock | None = None,
    exclude: Sequence[str] = (),
) -> UnitTestReport:
    """All tests of the selected models, each reported as it ends. Raises ProjectError where the project has errors.

    Without any test Spark is not started. `notify` receives that Spark starts.
    """
    clock = clock or SystemClock()
    started = clock.monotonic()
    heads = open_catalog(settings).head() if is_initialized(settings) else {}
    compiled, discovery = compile_from_disk(settings, heads, variables or {})
    if compiled.project_errors:
        raise ProjectError("The project has errors; no test was run", diagnostics=compiled.diagnostics)
    states = partial(read_states, compiled, heads)
    everything = replace(compiled, waves=(tuple(compiled.models),))
    tests = _selected(compiled.project, select_models(everything, select, exclude, states))
    outside = ExternalTables.of(heads, discovery)
    untyped = untyped_models(compiled, outside)
    if any(test.table not in untyped for test in tests):
        root = root or _start_spark(settings, notify)
    results = []
    with closing(RunSandbox(settings)) as sandbox:
        runner = _Runner(settings, compiled, outside, variables or {}, clock, sandbox)
        for table, group in groupby(tests, key=lambda test: test.table):
            session = _session(root) if root is not None and table not in untyped else None
            for test in group:
                if session is None:
                    result = runner.fail(test, untyped[table])
                else:
                    result = runner.run(session, compiled.models[table], test)
                on_result(result)
                results.append(result)
    return UnitTestReport(tuple(results), clock.monotonic() - started)


def _start_spark(settings: Settings, notify: Callable[[str], None]) -> SparkSession:
    """After one query, so that what Spark loads for its first is not in the time of a test."""
    root = open_spark(settings, notify, work=Work.SHORT)
    root.sql(rows_sql((Column("a", STRING),), [(None,)])).selectExpr("a").limit(1).collect()
    return root


def _selected(project: LoadedProject, tables: Collection[TableName]) -> list[UnitTest]:
    """In order of model and as written; ephemeral models have no table, but can be tested like any other."""
    folded = {str(table).lower(): table for table in tables}
    tests = [
        replace(test, table=folded[str(test.table).lower()])
        for test in project.unit_tests
        if str(test.table).lower() in folded
    ]
    return sorted(tests, key=lambda test: test.table)


def _session(root: SparkSession) -> SparkSession:
    """One that knows no catalog but Spark's own, which is empty."""
    session = root.newSession()
    for key, value in _FEW_ROWS.items():
        session.conf.set(key, value)
    return session


@dataclass(frozen=True, slots=True)
class _Runner:
    settings: Settings
    compiled: Compiled
    outside: ExternalTables
    variables: Mapping[str, str]
    clock: Clock
    sandbox: RunSandbox

    def run(self, session: SparkSession, model: CompiledModel, test: UnitTest) -> UnitTestResult:
        started = self.clock.monotonic()
        status, facts = "error", dict[str, Any]()
        try:
            status, facts = _UnitTestRun(self, session, model, test).compare()
        except TidegateError as error:
            facts = {"error": str(error), "where": error.where, "remedy": error.remedy}
        duration = round((self.clock.monotonic() - started) * 1000)
        name = model.model.table.short(self.compiled.namespace)
        return UnitTestResult.of(test, name, status, duration, **facts)

    def fail(self, test: UnitTest, failure: TidegateError) -> UnitTestResult:
        """The result of a test that cannot be run."""
        facts = {"error": str(failure), "where": failure.where, "remedy": failure.remedy}
        return UnitTestResult.of(test, test.table.short(self.compiled.namespace), "error", 0, **facts)


class _UnitTestRun:
    """One test on the session of its model."""

    def __init__(self, runner: _Runner, session: SparkSession, model: CompiledModel, test: UnitTest) -> None:
        self.runner = runner
        self.session = session
        self.model = model
        self.test = test
        self.sql = ""

    def compare(self) -> tuple[str, dict[str, Any]]:
        """The status, and the other fields of the result."""
        model = self.model.model
        with ExitStack() as held:
            try:
                return self._compared(self._result(held))
            except TidegateError:
                raise
            except Exception as error:
                explained = explain(error, self.sql, model.source, model.file)
                raise with_place(explained, error, model.file) if self.model.code else explained from error

    def _result(self, held: ExitStack) -> DataFrame:
        declared = self._declared_inputs()
        runner, test = self.runner, self.test
        values = RunValues(
            run_started_at=test.run_started_at or runner.clock.now().isoformat(),
            incremental=test.incremental,
            watermark_value=test.watermark_value,
            start_date=test.start_date,
            end_date=test.end_date,
            vars={**runner.variables, **test.vars},
        )
        compiled = _standing_alone(runner.compiled, self.model, declared)
        inputs = InputViews(self.session, runner.compiled, runner.outside, self.model)
        if self.model.code is not None:
            called = code_result(compiled, self.model.model.table, values, inputs, declared, runner.sandbox)
            frame = held.enter_context(called).frame
            return masked_frame(frame, self.model.model.masks, self.model.model.file)
        query = bind(compiled, self.model.model.table, values)
        views = inputs.make(query, declared)
        self.sql = query.substitute(lambda read: quote(views[input_of(read)]))
        return masked_frame(self.session.sql(self.sql), self.model.model.masks, self.model.model.file)

    def _declared_inputs(self) -> dict[Input, DeclaredRows]:
        model, itself = self.model, self.model.model.table
        tables = {*model.depends_on, *model.sources, *model.inlined} - {itself}
        namespace = self.runner.compiled.namespace
        inputs = UnitInputs(itself, model.reads_itself, tables, model.zones, namespace)
        declared = {inputs.find(entry.name): entry.rows for entry in self.test.given}
        return {name: rows for name, rows in declared.items() if name is not None}

    def _compared(self, frame: DataFrame) -> tuple[str, dict[str, Any]]:
        fields = {field.name.lower(): field for field in frame.schema.fields}
        expect = self.test.expect
        expected_frame = self.session.sql(expect.sql) if expect.sql is not None else None
        names = tuple(expected_frame.columns if expected_frame is not None else expect.columns)
        unknown = next((name for name in names if name.lower() not in fields), None)
        if unknown is not None:
            raise QueryError(
                f"the query gives no column '{unknown}'",
                where=f"{expect.place.file}:{expect.place.line}",
                remedy=meant(unknown, [field.name for field in fields.values()]),
            )
        # Where no row is expected, whole rows show what came instead.
        names = names or tuple(field.name for field in fields.values())
        columns = [Column(name, from_json(fields[name.lower()].dataType.jsonValue())) for name in names]
        rows = self._rows(frame, columns)
        expected = self._expected(expected_frame, columns)
        comparison = compare_rows(expected, rows, self._key(names), self.test.ordered)
        facts = {"columns": names, "expected_rows": len(expected), "actual_rows": len(rows)}
        return "passed" if comparison.none else "failed", {**facts, **differences(names, comparison)}

    def _rows(self, frame: DataFrame, columns: Sequence[Column]) -> list[tuple[Any, ...]]:
        rows = frame.selectExpr(*map(_comparable, columns)).limit(_MOST_ROWS + 1).collect()
        if len(rows) > _MOST_ROWS:
            raise QueryError(
                f"the query gives more than {_MOST_ROWS} rows, and a unit test is made for few",
                where=self.model.model.file,
                remedy="give its inputs fewer rows",
            )
        return [tuple(row) for row in rows]

    def _expected(self, expected_frame: DataFrame | None, columns: Sequence[Column]) -> list[tuple[Any, ...]]:
        if expected_frame is None:
            if not self.test.expect.rows:
                return []
            typed = [Column(c.name, c.type if _castable(c.type) else STRING) for c in columns]
            expected_frame = self.session.sql(rows_sql(typed, self.test.expect.rows))
        casts = [
            f"CAST({quote(c.name)} AS {c.type.sql}) AS {quote(c.name)}" if _castable(c.type) else quote(c.name)
            for c in columns
        ]
        return [
            tuple(row) for row in expected_frame.selectExpr(*casts).selectExpr(*map(_comparable, columns)).collect()
        ]

    def _key(self, columns: Sequence[str]) -> tuple[int, ...]:
        positions = {name.lower(): at for at, name in enumerate(columns)}
        key = [name.lower() for name in self.model.model.settings.unique_key]
        return tuple(positions[name] for name in key) if all(name in positions for name in key) else ()


def _standing_alone(compiled: Compiled, model: CompiledModel, declared: Iterable[Input]) -> Compiled:
    """What the model reads and no more. An ephemeral model that is given rows is not inlined."""
    own = model.model.table
    models = {table: compiled.models[table] for table in (own, *model.depends_on, *model.inlined)}
    as_tables = tuple(table for table in model.inlined if table in declared)
    for table in as_tables:
        settings = replace(models[table].model.settings, materialized=Materialized.TABLE)
        models[table] = replace(models[table], model=replace(models[table].model, settings=settings))
    models[own] = replace(model, depends_on=(*model.depends_on, *as_tables))
    return replace(compiled, models=models)


def _comparable(column: Column) -> str:
    """Times are compared, and shown, as text in UTC."""
    name, kind = quote(column.name), column.type
    if kind.kind == "variant":
        return f"to_json({name}) AS {name}"
    if kind.is_temporal or kind.kind.startswith("interval") or not _castable(kind):
        return f"CAST({name} AS string) AS {name}"
    return name


def _castable(kind: DataType) -> bool:
    return kind.known and kind != VOID


def untyped_models(compiled: Compiled, outside: ExternalTables) -> Mapping[TableName, SourceError]:
    """Each of them, and why: a test would have to guess the types of the rows that it gives.

    They read a source that does not answer, or a table that was never built from one.
    """
    silent = {failure.source: failure for failure in outside.failures}
    errors: dict[TableName, SourceError] = {}
    if not silent:
        return errors
    for table, model in compiled.models.items():
        names = silent.keys() & {source.namespace for source in model.sources}
        if names:
            errors[table] = silent[min(names)]
    for table in (table for wave in compiled.waves for table in wave if table not in errors):
        unbuilt = [other for other in compiled.models[table].depends_on if other not in outside.heads]
        failures = [errors[other] for other in unbuilt if other in errors]
        if failures:
            errors[table] = failures[0]
    return errors
