"""Evaluate checks on Spark, within a time limit: those that one pass over a table can answer share it, the others run
in parallel."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from uuid import uuid4

from tidegate.checks.check_values import (
    AggregateRule,
    CheckRule,
    FunctionRule,
    GroupRule,
    QueryRule,
    RowRule,
    StaticRule,
    ValueRange,
)
from tidegate.errors import QueryError
from tidegate.quality.check_answers import REDACTED, SAMPLES, CheckAnswer, CheckQuery, plain, redact_row
from tidegate.quality.check_queries import Pass, SampleColumns, group_samples, grouped_pass, one_pass, row_samples
from tidegate.quality.own_functions import OwnFunctions, with_conditions
from tidegate.spark.spark_errors import read_failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CheckWorker", "TimedOut", "evaluate_checks"]


_PARALLEL_QUERIES = 4
_COUNTED_AT_ONCE = 1000
_DISTINCT = re.compile(r"\bDISTINCT ([^)]*)", re.IGNORECASE)


def evaluate_checks(
    session: SparkSession,
    relation: str,
    queries: Sequence[CheckQuery],
    *,
    past: str | None = None,
    hidden: frozenset[str] = frozenset(),
    keys: Sequence[str] = (),
    timeout: timedelta = timedelta(minutes=5),
    cancelled: Callable[[], bool] = lambda: False,
    functions: OwnFunctions | None = None,
    proven: Callable[[ValueRange], bool] = lambda within: False,
) -> tuple[CheckAnswer, ...]:
    """One answer for each query, in their order. `relation` is a table's name or a query in parentheses.

    `past`: the relation as it was published before. `hidden`: columns whose values are not shown; `keys`: columns that
    samples show besides those that a rule is about. `timeout` holds for checks without one of their own. `functions`:
    those of the project's own checks. `proven`: whether the range is known to hold, without reading rows.
    """
    functions = functions or OwnFunctions(Path())
    stopped = threading.Event()

    def unwanted() -> bool:
        return stopped.is_set() or cancelled()

    evaluation = _Evaluation(
        session, relation, past, frozenset(map(str.lower, hidden)), tuple(keys), timeout, unwanted, functions
    )
    answers: dict[int, CheckAnswer] = {}
    together: dict[Hashable, list[int]] = {}
    for number, one in enumerate(queries):
        if isinstance(one.form, StaticRule):
            status = "passed" if one.form.passed else "failed"
            answers[number] = CheckAnswer(status, one.form.value, one.form.expected)
        elif isinstance(one.form, RowRule) and one.form.within and not one.relation and proven(one.form.within):
            answers[number] = CheckAnswer("passed", 0, one.form.expected)
        else:
            together.setdefault(_group_key(one, number), []).append(number)
    groups = [[queries[number] for number in numbers] for numbers in together.values()]
    workers = [CheckWorker(session, unwanted) for _ in groups]
    at_once = min(_PARALLEL_QUERIES, session.sparkContext.defaultParallelism)
    with ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="checks") as pool:
        try:
            for numbers, group_answers in zip(
                together.values(), pool.map(evaluation.answer, groups, workers), strict=True
            ):
                answers.update(zip(numbers, group_answers, strict=True))
        except BaseException:
            stopped.set()  # otherwise the pool would wait for checks that are no longer needed
            raise
    return tuple(answers[number] for number in range(len(queries)))


def _group_key(one: CheckQuery, number: int) -> Hashable:
    """Equal for checks that one query answers."""
    match one.form:
        case RowRule() | FunctionRule():
            return one.relation, "pass"
        case AggregateRule():
            return one.relation, _different(one.form) if one.form.exact else "pass"
        case GroupRule():
            return one.relation, one.concerning, one.form.keys, one.form.only, one.form.counted
        case _:
            return number


def _different(form: AggregateRule) -> tuple[str, ...]:
    """The expressions whose distinct values are counted. Each needs its own shuffle; in one query Spark would multiply
    the rows."""
    return tuple(sorted({expression for _, text in form.aggregates for expression in _DISTINCT.findall(text)}))


@dataclass(frozen=True, slots=True)
class _Evaluation:
    session: SparkSession
    relation: str
    past: str | None
    hidden: frozenset[str]
    keys: tuple[str, ...]
    timeout: timedelta
    cancelled: Callable[[], bool]
    functions: OwnFunctions

    def answer(self, queries: Sequence[CheckQuery], worker: CheckWorker) -> list[CheckAnswer]:
        """An error in one check must not fail the others: then each is evaluated alone."""
        if self.cancelled():
            return _cancelled(queries)
        limit = min(map(self._limit, queries))
        started = time.monotonic()
        try:
            answers = worker.do(lambda: self._ask(queries), limit)
        except TimedOut:
            return _cancelled(queries) if self.cancelled() else self._without_late(queries, worker, limit)
        except Exception as error:
            if self.cancelled():
                return _cancelled(queries)
            if len(queries) > 1:
                return [self.answer([one], worker)[0] for one in queries]
            unanswered = _unanswered(queries[0], _why(queries[0].form, error))
            return [replace(unanswered, duration_ms=_since(started), kind=read_failure(error).kind)]
        took = _since(started)
        if any(one.status == "failed" for one in answers):
            with suppress(TimedOut, Exception):  # the answer stands without a sample
                answers = worker.do(partial(self._with_samples, queries, answers), limit)
        redacted = (self._without_hidden(of.form, one) for of, one in zip(queries, answers, strict=True))
        return [replace(one, duration_ms=took) for one in redacted]

    def _without_hidden(self, form: CheckRule, answer: CheckAnswer) -> CheckAnswer:
        discloses = isinstance(form, AggregateRule) and form.of.lower() in self.hidden and answer.value is not None
        return replace(answer, value=REDACTED) if discloses else answer

    def _limit(self, one: CheckQuery) -> timedelta:
        return one.check.timeout or self.timeout

    def _without_late(self, queries: Sequence[CheckQuery], worker: CheckWorker, limit: timedelta) -> list[CheckAnswer]:
        own = [isinstance(one.form, FunctionRule) for one in queries]
        if any(own) and not all(own):
            # The project's own code may take any time; that must not fail the other checks.
            parts = {of: [one for one, its in zip(queries, own, strict=True) if its is of] for of in (False, True)}
            answers = {of: iter(self.answer(part, worker)) for of, part in parts.items()}
            return [next(answers[of]) for of in own]
        patient = [one for one in queries if self._limit(one) > limit]
        later = iter(self.answer(patient, worker)) if patient else iter(())
        took, seconds = limit // timedelta(milliseconds=1), limit.total_seconds()
        late = [replace(_unanswered(one, f"not done after {seconds:g}s"), duration_ms=took) for one in queries]
        return [next(later) if self._limit(one) > limit else answer for one, answer in zip(queries, late, strict=True)]

    def _ask(self, queries: Sequence[CheckQuery]) -> Sequence[CheckAnswer]:
        relation = queries[0].relation or self.relation
        if isinstance(queries[0].form, QueryRule):
            return [self._breaking_rows(queries[0].form, relation)]
        with self._conditions(relation, queries) as (rows, forms):
            sound = [form for form in forms if not isinstance(form, QueryError)]
            query = self._pass(rows, queries[0].concerning, sound) if sound else None
            answers = iter(query.read(self._row(query.sql)) if query else ())
        return [
            _unanswered(one, f"{form.where}: {form}") if isinstance(form, QueryError) else next(answers)
            for one, form in zip(queries, forms, strict=True)
        ]

    def _conditions(
        self, relation: str, queries: Sequence[CheckQuery]
    ) -> AbstractContextManager[tuple[str, list[CheckRule | QueryError]]]:
        return with_conditions(self.session, relation, [one.form for one in queries], self.functions)

    def _pass(self, relation: str, concerning: str | None, forms: Sequence[CheckRule]) -> Pass:
        if isinstance(forms[0], GroupRule):
            return grouped_pass(relation, concerning, cast("Sequence[GroupRule]", forms))
        return one_pass(relation, self.past, cast("Sequence[RowRule | AggregateRule]", forms))

    def _with_samples(self, queries: Sequence[CheckQuery], answers: Sequence[CheckAnswer]) -> Sequence[CheckAnswer]:
        """One more query where rules about rows are broken, for all of them together, and one where groups are."""
        relation, concerning = queries[0].relation or self.relation, queries[0].concerning
        failed = [number for number, one in enumerate(answers) if one.status == "failed"]
        sampled = list(answers)
        about_rows = [number for number in failed if isinstance(queries[number].form, RowRule | FunctionRule)]
        if about_rows:
            fields = self.session.sql(f"SELECT * FROM {relation}").schema.fields
            types = {field.name: field.dataType.simpleString() for field in fields}
            with self._conditions(relation, [queries[number] for number in about_rows]) as (rows, rules):
                columns = SampleColumns(types, self.keys, self.hidden)
                query = row_samples(rows, cast("Sequence[RowRule]", rules), columns)
                samples = query.read(self._row(query.sql))
            for number, some in zip(about_rows, samples, strict=True):
                sampled[number] = replace(answers[number], samples=some)
        for number in failed:
            form = queries[number].form
            if isinstance(form, GroupRule) and form.broken != "false":
                groups = self.session.sql(group_samples(relation, concerning, form, self.hidden)).collect()
                sampled[number] = replace(answers[number], samples=tuple(map(plain, groups)))
        return sampled

    def _row(self, sql: str) -> Sequence[Any]:
        row: Sequence[Any] | None = self.session.sql(sql).first()
        assert row is not None
        return row

    def _breaking_rows(self, form: QueryRule, relation: str) -> CheckAnswer:
        """One job where few rows break the rule, as is usual; a second one counts them where there are many."""
        frame = self.session.sql(form.sql.replace("{table}", relation))
        rows = frame.limit(_COUNTED_AT_ONCE + 1).collect()
        value = len(rows) if len(rows) <= _COUNTED_AT_ONCE else frame.count()
        samples = tuple(redact_row(plain(row), self.hidden) for row in rows[:SAMPLES])
        return CheckAnswer("failed" if value else "passed", value, form.expected, samples)


def _why(form: CheckRule, error: Exception) -> str:
    message = read_failure(error).message
    return f"{form.file}:{form.line}: {message}" if isinstance(form, FunctionRule) else message


def _cancelled(queries: Sequence[CheckQuery]) -> list[CheckAnswer]:
    return [_unanswered(one, "cancelled") for one in queries]


def _unanswered(one: CheckQuery, why: str) -> CheckAnswer:
    return CheckAnswer("error", None, one.form.expected, error=why)


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


T = TypeVar("T")
_LOOK_SECONDS = 0.1
_INTERRUPTS, _WHEN_CANCELLED = 50, 5


class TimedOut(Exception):
    """The work was not done in time, or was cancelled."""


class CheckWorker:
    """Runs work under a time limit. Created in the thread whose pool and properties the work gets; used by one thread
    at a time."""

    def __init__(self, session: SparkSession, cancelled: Callable[[], bool] = lambda: False) -> None:
        from pyspark.util import inheritable_thread_target

        # A session's own tags belong to the calling thread, and cannot be interrupted from another.
        self._jobs = session.sparkContext
        self._cancelled = cancelled
        self._inheriting: Callable[[Callable[[], None]], Callable[[], None]] = inheritable_thread_target(session)

    def do(self, work: Callable[[], T], limit: timedelta) -> T:
        """What `work` returns or raises. Raises TimedOut after `limit`, or soon after a cancel: its jobs are ended,
        and no others of the session."""
        tag = f"check-{uuid4().hex}"
        outcome = _Outcome[T]()

        def tagged() -> None:
            self._jobs.addJobTag(tag)
            outcome.of(work)

        thread = threading.Thread(target=self._inheriting(tagged), name="check", daemon=True)
        thread.start()
        end = time.monotonic() + limit.total_seconds()
        while thread.is_alive() and (left := end - time.monotonic()) > 0 and not self._cancelled():
            thread.join(min(left, _LOOK_SECONDS))
        late = thread.is_alive()
        # What Spark is still planning cannot be interrupted, and is left behind.
        for _ in range(_WHEN_CANCELLED if self._cancelled() else _INTERRUPTS):
            if not thread.is_alive():
                break
            with suppress(Exception):
                self._jobs.cancelJobsWithTag(tag)
            thread.join(0.1)
        if late:
            raise TimedOut
        return outcome.get()


class _Outcome(Generic[T]):
    def __init__(self) -> None:
        self._value: Any = None
        self._error: BaseException | None = None

    def of(self, work: Callable[[], T]) -> None:
        try:
            self._value = work()
        except BaseException as error:
            self._error = error

    def get(self) -> T:
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value
