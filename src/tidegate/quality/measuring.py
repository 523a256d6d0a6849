"""Answers to checks: those that one pass over a table can answer share it, the others run side by side."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tidegate.checks.values import Form, Grouped, Measure, Query, RowRule, Settled
from tidegate.quality.asking import SAMPLES, Asked, Found
from tidegate.quality.in_time import Late, Worker
from tidegate.quality.one_pass import Pass, grouped_pass, one_pass
from tidegate.quality.plain_values import plain
from tidegate.quality.samples import HIDDEN, Columns, group_samples, row_samples
from tidegate.spark.failures import read_failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["measure"]

_SIDE_BY_SIDE = 4
_COUNTED_AT_ONCE = 1000
_DISTINCT = re.compile(r"\bDISTINCT ([^)]*)", re.IGNORECASE)


def measure(
    session: SparkSession,
    relation: str,
    asked: Sequence[Asked],
    *,
    past: str | None = None,
    hidden: frozenset[str] = frozenset(),
    keys: Sequence[str] = (),
    timeout: timedelta = timedelta(minutes=5),
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[Found, ...]:
    """An answer per question, in their order. `relation` is a table's name or a query in parentheses.

    `past`: the relation as it was published before. `hidden`: columns that samples do not show; `keys`: columns that
    they show besides those that a rule is about. `timeout` holds for checks without one of their own.
    """
    look = _Look(session, relation, past, frozenset(map(str.lower, hidden)), tuple(keys), timeout, cancelled)
    answers: dict[int, Found] = {}
    together: dict[Hashable, list[int]] = {}
    for number, one in enumerate(asked):
        if isinstance(one.form, Settled):
            status = "passed" if one.form.passed else "failed"
            answers[number] = Found(status, one.form.value, one.form.expected)
        else:
            together.setdefault(_company(one, number), []).append(number)
    groups = [([asked[number] for number in numbers], numbers, Worker(session)) for numbers in together.values()]
    workers = min(_SIDE_BY_SIDE, session.sparkContext.defaultParallelism)
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="checks") as pool:
        for (_, numbers, _), found in zip(groups, pool.map(lambda g: look.answer(g[0], g[2]), groups), strict=True):
            answers.update(zip(numbers, found, strict=True))
    return tuple(answers[number] for number in range(len(asked)))


def _company(one: Asked, number: int) -> Hashable:
    """Equal for questions that one query answers."""
    match one.form:
        case RowRule():
            return one.relation, "pass"
        case Measure():
            return one.relation, _different(one.form) if one.form.exact else "pass"
        case Grouped():
            return one.relation, one.concerning, one.form.keys, one.form.only, one.form.counted
        case _:
            return number


def _different(form: Measure) -> tuple[str, ...]:
    """Whose different values are counted: each has a shuffle of its own, and in one query Spark multiplies the rows."""
    return tuple(sorted({found for _, text in form.aggregates for found in _DISTINCT.findall(text)}))


@dataclass(frozen=True, slots=True)
class _Look:
    session: SparkSession
    relation: str
    past: str | None
    hidden: frozenset[str]
    keys: tuple[str, ...]
    timeout: timedelta
    cancelled: Callable[[], bool]

    def answer(self, asked: Sequence[Asked], worker: Worker) -> list[Found]:
        """What breaks one question must not break the others: then each is asked alone."""
        limit = min(map(self._limit, asked))
        started = time.monotonic()
        try:
            found = worker.do(lambda: self._ask(asked), limit)
        except Late:
            return self._without_late(asked, worker, limit)
        except Exception as error:
            if self.cancelled():
                return [_unanswered(one, "cancelled") for one in asked]
            if len(asked) > 1:
                return [self.answer([one], worker)[0] for one in asked]
            return [replace(_unanswered(asked[0], read_failure(error).message), duration_ms=_since(started))]
        took = _since(started)
        if any(one.status == "failed" for one in found):
            with suppress(Late, Exception):  # what was found stands without a sample
                found = worker.do(partial(self._with_samples, asked, found), limit)
        return [replace(one, duration_ms=took) for one in found]

    def _limit(self, one: Asked) -> timedelta:
        return one.check.timeout or self.timeout

    def _without_late(self, asked: Sequence[Asked], worker: Worker, limit: timedelta) -> list[Found]:
        patient = [one for one in asked if self._limit(one) > limit]
        rest = iter(self.answer(patient, worker)) if patient else iter(())
        took, seconds = limit // timedelta(milliseconds=1), limit.total_seconds()
        late = [replace(_unanswered(one, f"not done after {seconds:g}s"), duration_ms=took) for one in asked]
        return [next(rest) if self._limit(one) > limit else told for one, told in zip(asked, late, strict=True)]

    def _ask(self, asked: Sequence[Asked]) -> Sequence[Found]:
        relation = asked[0].relation or self.relation
        forms = [one.form for one in asked]
        if isinstance(asked[0].form, Query):
            return [self._breaking_rows(asked[0].form, relation)]
        query = self._pass(relation, asked[0].concerning, forms)
        return query.read(self._row(query.sql))

    def _pass(self, relation: str, concerning: str | None, forms: Sequence[Form]) -> Pass:
        if isinstance(forms[0], Grouped):
            return grouped_pass(relation, concerning, cast("Sequence[Grouped]", forms))
        return one_pass(relation, self.past, cast("Sequence[RowRule | Measure]", forms))

    def _with_samples(self, asked: Sequence[Asked], found: Sequence[Found]) -> Sequence[Found]:
        """One more query where rules about rows are broken, for all of them together, and one where groups are."""
        relation, concerning = asked[0].relation or self.relation, asked[0].concerning
        failed = [(number, asked[number].form) for number, one in enumerate(found) if one.status == "failed"]
        sampled = list(found)
        rules = {number: form for number, form in failed if isinstance(form, RowRule)}
        if rules:
            fields = self.session.sql(f"SELECT * FROM {relation}").schema.fields
            types = {field.name: field.dataType.simpleString() for field in fields}
            query = row_samples(relation, tuple(rules.values()), Columns(types, self.keys, self.hidden))
            for number, samples in zip(rules, query.read(self._row(query.sql)), strict=True):
                sampled[number] = replace(found[number], samples=samples)
        for number, form in failed:
            if isinstance(form, Grouped) and form.broken != "false":
                rows = self.session.sql(group_samples(relation, concerning, form, self.hidden)).collect()
                sampled[number] = replace(found[number], samples=tuple(map(plain, rows)))
        return sampled

    def _row(self, sql: str) -> Sequence[Any]:
        row: Sequence[Any] | None = self.session.sql(sql).first()
        assert row is not None
        return row

    def _breaking_rows(self, form: Query, relation: str) -> Found:
        """One job where few rows break the rule, as is usual; a second one counts them where there are many."""
        frame = self.session.sql(form.sql.replace("{table}", relation))
        rows = frame.limit(_COUNTED_AT_ONCE + 1).collect()
        value = len(rows) if len(rows) <= _COUNTED_AT_ONCE else frame.count()
        samples = tuple(_sample(row, self.hidden) for row in rows[:SAMPLES])
        return Found("failed" if value else "passed", value, form.expected, samples)


def _sample(row: Any, hidden: Collection[str]) -> Mapping[str, Any]:
    shown: dict[str, Any] = plain(row)
    return {k: HIDDEN if k.lower() in hidden and v is not None else v for k, v in shown.items()}


def _unanswered(one: Asked, why: str) -> Found:
    return Found("error", None, one.form.expected, error=why)


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
