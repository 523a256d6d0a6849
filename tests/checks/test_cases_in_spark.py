"""Every built-in check answers as tests/cases/checks says: where it holds, where it does not, NULL, no rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.checks.cases import Case, CaseFile, case_files, read_cases
from tidegate.checks.check_values import QueryRule
from tidegate.quality.check_answers import CheckAnswer, CheckQuery
from tidegate.quality.evaluate import evaluate_checks

pytestmark = pytest.mark.spark

OTHER = "`shop`.`silver`.`other`"


@pytest.mark.parametrize("path", case_files(), ids=lambda path: path.stem)
def test_checks_find_what_the_cases_say(path: Path, spark: SparkSession) -> None:
    file = read_cases(path)
    assert file.cases
    told = []
    by_relation = sorted(file.cases, key=_relation)
    for (table, past), group in groupby(by_relation, key=_relation):
        cases = list(group)
        asked = [_asked(file, case) for case in cases]
        before = file.tables[past].query if past else None
        found = evaluate_checks(spark, file.tables[table].query, asked, past=before)
        told += [_difference(case, one) for case, one in zip(cases, found, strict=True)]
    assert [difference for difference in told if difference] == []


def _relation(case: Case) -> tuple[str, str]:
    return case.table, case.past or ""


def _asked(file: CaseFile, case: Case) -> CheckQuery:
    form = file.form(case)
    if isinstance(form, QueryRule) and file.other is not None:
        form = replace(form, sql=form.sql.replace(OTHER, file.other.query))
    return CheckQuery(case.check, form)


def _difference(case: Case, found: CheckAnswer) -> str | None:
    value = str(found.value)
    if found.status == case.status and (case.value is None or value.lower() == case.value.lower()):
        return None
    return f"{case.id}: {found.status} {value} ({found.error}), not {case.status} {case.value}"
