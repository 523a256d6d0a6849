"""The code, docs/checks.md and the cases name the same checks; each kind says all there is to know about it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checks.cases import Case, case_files, read_cases
from tidegate.checks.check_kinds import CheckKind
from tidegate.checks.check_registry import BUILT_IN, KEYED
from tidegate.checks.check_values import Stage
from tidegate.checks.keyed import KEYED_ONLY
from tidegate.checks.parsing import call_text, parse_call
from tidegate.project.docs_tables import with_tables

PAGE = (Path(__file__).parents[2] / "docs" / "checks.md").read_text(encoding="utf-8")

CONSTRAINTS = """not_null not_empty at_least_one null_percent unique composite_unique primary_key compare between
in_list not_in not_constant like not_like matches email uuid valid_type length_between length_eq references sequential
sequential_step distinct_count duplicate_percent no_overlap no_nan finite required_if check"""
AUDITS = """row_count freshness mean median min max sum mean_between stddev zscore percentile entropy approx_distinct
reconcile_count reconcile_sum column_exists column_type golden"""
WARNINGS = """freshness row_count null_percent not_null unique min compare mean row_count_delta sum_delta mean_delta
approaching_limit low_entropy cardinality"""
IN_SETTINGS = """not_null unique unique_expr accepted_values relationships expression row_count in_range regex_match
aggregate composite_unique not_in_future older_than_n_days freshness null_rate"""


@pytest.mark.parametrize(
    ("stage", "names"),
    [(Stage.BEFORE_WRITE, CONSTRAINTS), (Stage.BEFORE_PUBLISH, AUDITS), (Stage.AFTER_PUBLISH, WARNINGS)],
)
def test_each_stage_has_exactly_its_checks(stage: Stage, names: str) -> None:
    assert {kind.name for kind in BUILT_IN.values() if stage in kind.stages} == set(names.split())


def test_settings_files_may_name_every_type() -> None:
    assert set(IN_SETTINGS.split()) <= set(KEYED)


def test_the_page_says_what_the_code_says() -> None:
    assert with_tables(PAGE) == PAGE, "run `make docs`"
    listed = re.findall(r"^\| `(\w+)[(`]", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted([*BUILT_IN, *(kind.name for kind in KEYED_ONLY)])


def all_cases() -> list[Case]:
    return [case for path in case_files() for case in read_cases(path).cases]


@pytest.mark.parametrize("name", [*BUILT_IN, *(kind.name for kind in KEYED_ONLY)])
def test_a_check_has_cases_that_hold_and_do_not_and_meet_null_and_no_rows(name: str) -> None:
    cases = [case for case in all_cases() if case.kind == name]
    assert {"passed", "failed"} <= {case.status for case in cases}
    assert any("null" in case.table for case in cases)
    assert any(case.table == "empty" for case in cases)


def test_a_case_stands_under_the_check_that_it_calls() -> None:
    strays = [case.id for case in all_cases() if case.check.call is None or case.check.call.name != case.kind]
    assert strays == []


@pytest.mark.parametrize("kind", BUILT_IN.values(), ids=lambda kind: kind.name)
def test_an_example_is_written_as_it_is_read(kind: CheckKind) -> None:
    call, severity = parse_call(kind.example)
    assert severity is None
    assert call.name == kind.name
    assert call_text(call).replace("'", "") == kind.example.replace("'", "")


@pytest.mark.parametrize("kind", [*BUILT_IN.values(), *KEYED_ONLY], ids=lambda kind: kind.name)
def test_a_check_says_what_it_means(kind: CheckKind) -> None:
    assert kind.meaning.endswith(".")
    assert kind.nulls
    assert kind.empty
    names = [parameter.name for parameter in kind.parameters]
    assert len(names) == len(set(names))
