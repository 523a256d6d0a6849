"""What is unusual: the rules as a table of cases, and what holds for all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config import AnomaliesSection
from tidegate.quality.anomaly_rules import KINDS, MOST_RUNS, Anomaly, ProfiledRun, find_anomalies
from tidegate.quality.check_answers import REDACTED
from tidegate.quality.column_profiles import ColumnProfile, Profile

CASES = Path(__file__).parents[1] / "cases" / "anomalies" / "rules.txt"
NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
USUAL = AnomaliesSection().thresholds()


def cases() -> list[tuple[str, ...]]:
    lines = (line.partition("#")[0] for line in CASES.read_text(encoding="utf-8").splitlines())
    return [tuple(cell.strip() for cell in line.split("|")) for line in lines if line.strip()]


def seen(what: str, text: str, number: int = 0) -> ProfiledRun:
    at = NOON + timedelta(days=number)
    value = math.nan if text == "?" else float(text)
    rows, column = 1000, ColumnProfile("c", "bigint", 0)
    match what:
        case "rows":
            rows = int(value)
        case "nulls":
            column = replace(column, nulls=round(value * 1000))
        case "hours" if text != "?":
            column = replace(column, type="timestamp", max=(at - timedelta(hours=value)).isoformat())
        case "days":
            column = replace(column, type="date", max=(at - timedelta(days=value)).date().isoformat())
        case "mean" if text != "?":
            column = replace(column, mean=value if math.isfinite(value) else str(value))
        case "distinct":
            column = replace(column, distinct=int(value))
    return ProfiledRun(f"run-{number}", at, Profile(rows, (column,)))


def history(what: str, texts: str) -> list[ProfiledRun]:
    return [seen(what, text, number) for number, text in enumerate(texts.split())]


@pytest.mark.parametrize(("what", "before", "now", "told"), cases(), ids=lambda value: value.replace(" ", "_"))
def test_what_is_told(what: str, before: str, now: str, told: str) -> None:
    found = find_anomalies("silver.orders", seen(what, now, 99), history(what, before), USUAL)
    assert [anomaly.message for anomaly in found] == ([] if told == "-" else [told])


def test_an_anomaly_says_what_it_is_about_and_by_how_much() -> None:
    (found,) = find_anomalies("silver.orders", seen("rows", "40", 9), history("rows", "100 100 100"), USUAL)
    assert found == Anomaly("silver.orders", "row_count", None, 40, 100, 0.6, "40 rows, usually about 100")
    (found,) = find_anomalies("silver.orders", seen("mean", "3", 9), history("mean", "0 0 0"), USUAL)
    assert (found.kind, found.column, found.deviation) == ("mean", "c", 1000)


def test_keys_that_grow_with_their_table_are_told_as_rows_only() -> None:
    def grown(rows: int, number: int) -> ProfiledRun:
        return ProfiledRun(f"run-{number}", NOON, Profile(rows, (ColumnProfile("id", "bigint", 0, distinct=rows),)))

    found = find_anomalies("silver.orders", grown(500, 9), [grown(100, number) for number in range(3)], USUAL)
    assert [anomaly.kind for anomaly in found] == ["row_count"]


def test_hidden_values_are_not_compared() -> None:
    def hidden(number: int, nulls: int = 0) -> ProfiledRun:
        column = ColumnProfile("born", "date", nulls, 40, REDACTED, REDACTED)
        salary = ColumnProfile("salary", "double", nulls, 40, REDACTED, REDACTED, REDACTED)
        return ProfiledRun(f"run-{number}", NOON, Profile(100, (column, salary)))

    past = [hidden(number) for number in range(3)]
    assert find_anomalies("silver.people", hidden(9), past, USUAL) == ()
    assert {a.kind for a in find_anomalies("silver.people", hidden(9, nulls=60), past, USUAL)} == {"null_share"}


def test_a_threshold_of_0_is_off_and_each_kind_has_its_own() -> None:
    past, now = history("rows", "100 100 100"), seen("rows", "400", 9)
    assert not find_anomalies("m", now, past, AnomaliesSection(threshold=0).thresholds())
    assert not find_anomalies("m", now, past, AnomaliesSection(row_count=0).thresholds())
    assert not find_anomalies("m", now, past, AnomaliesSection(row_count=3).thresholds())
    assert find_anomalies("m", now, past, AnomaliesSection(threshold=0, row_count=2).thresholds())
    assert find_anomalies("m", now, past, AnomaliesSection(threshold=0).thresholds(own=1))
    assert not find_anomalies("m", now, past, AnomaliesSection().thresholds(own=0))


def test_every_kind_has_a_threshold() -> None:
    assert set(KINDS) == set(USUAL)


def test_a_part_of_a_table_is_not_compared_with_a_whole_one() -> None:
    past = history("rows", "100 100 100")
    written = [replace(one, profile=replace(one.profile, scope="written")) for one in past]
    now = seen("rows", "1000", 9)
    assert find_anomalies("m", now, past, USUAL)
    assert not find_anomalies("m", now, written, USUAL)
    assert not find_anomalies("m", now, [*past[:2], *written], USUAL)


ROWS = st.integers(0, 10**9)


@given(st.lists(ROWS, max_size=15), ROWS, st.lists(ROWS, max_size=5))
def test_the_current_run_is_never_among_those_it_is_compared_with(past: list[int], now: int, others: list[int]) -> None:
    """Whatever else the history says of the current run, the answer is the same."""
    before = [ProfiledRun(f"run-{n}", NOON + timedelta(days=n), Profile(rows, ())) for n, rows in enumerate(past)]
    current = ProfiledRun("run-now", NOON + timedelta(days=99), Profile(now, ()))
    own = [replace(current, profile=Profile(rows, ())) for rows in (now, *others)]
    plainly = find_anomalies("m", current, before, USUAL)
    assert find_anomalies("m", current, [*own, *before], USUAL) == plainly
    assert find_anomalies("m", current, list(reversed(before)), USUAL) == plainly
    assert find_anomalies("m", current, before[-MOST_RUNS:], USUAL) == plainly
    for anomaly in plainly:
        assert math.isfinite(anomaly.deviation)
        assert anomaly.expected == pytest.approx(sum(past[-MOST_RUNS:]) / len(past[-MOST_RUNS:]), rel=1e-5)


@given(st.lists(ROWS, min_size=3, max_size=10))
def test_what_is_as_it_was_is_never_unusual(past: list[int]) -> None:
    before = [ProfiledRun(f"run-{n}", NOON, Profile(rows, ())) for n, rows in enumerate(past)]
    within = ProfiledRun("run-now", NOON, Profile(round(sum(past) / len(past)), ()))
    assert not find_anomalies("m", within, before, USUAL)
