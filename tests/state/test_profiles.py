"""Profiles and anomalies come back as they were put down; only what was published is history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tidegate.state import AnomalyRecord, ProfileRecord, StateStore, open_state

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
COLUMN: dict[str, Any] = {
    "name": "c",
    "type": "double",
    "nulls": 1,
    "distinct": 2,
    "min": "-inf",
    "max": "nan",
    "mean": 0.5,
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StateStore]:
    with open_state(f"sqlite:///{tmp_path}/state.db") as store:
        yield store


def a_profile(number: int = 1, scope: str = "table", published: bool = True) -> ProfileRecord:
    at = NOON + timedelta(hours=number)
    return ProfileRecord(f"run-{number}", "silver.orders", at, scope, 3, 9, 2**62, published, (COLUMN,))


def an_anomaly(column: str | None = None, number: int = 1) -> AnomalyRecord:
    at = NOON + timedelta(hours=number)
    return AnomalyRecord(f"run-{number}", "silver.orders", "mean", column, at, 4.5, 1.0, 3.5, "much")


def test_a_profile_comes_back_as_it_was_recorded(store: StateStore) -> None:
    store.add_profile(a_profile())
    store.add_profile(replace(a_profile(), model="silver.other"))
    assert store.reader().profiles("silver.orders") == (a_profile(),)


def test_a_model_that_is_built_again_within_a_run_has_one_profile(store: StateStore) -> None:
    store.add_profile(a_profile())
    store.add_profile(replace(a_profile(), rows=4))
    assert [record.rows for record in store.reader().profiles("silver.orders")] == [4]


def test_the_newest_come_first_and_as_many_as_asked_for(store: StateStore) -> None:
    for number in (3, 1, 2, 12):
        store.add_profile(a_profile(number))
    store.add_profile(a_profile(5, scope="written"))
    reader = store.reader()
    assert [r.run_id for r in reader.profiles("silver.orders", 3)] == ["run-12", "run-5", "run-3"]
    assert [r.run_id for r in reader.profiles("silver.orders", 2, "table", but_run="run-12")] == ["run-3", "run-2"]


def test_what_was_not_published_is_no_history_until_it_is(store: StateStore) -> None:
    store.add_profile(a_profile(published=False))
    store.add_profile(replace(a_profile(published=False), model="silver.other"))
    assert store.reader().profiles("silver.orders") == ()
    store.profiles_published("run-1", ["silver.orders"])
    assert store.reader().profiles("silver.orders") == (a_profile(),)
    assert store.reader().profiles("silver.other") == ()


def test_anomalies_come_back_by_run_and_by_model(store: StateStore) -> None:
    for record in (an_anomaly(), an_anomaly("c"), an_anomaly("c", 2), replace(an_anomaly(), model="silver.other")):
        store.add_anomaly(record)
        store.add_anomaly(record)
    reader = store.reader()
    assert reader.anomalies("run-2") == (an_anomaly("c", 2),)
    assert len(reader.anomalies("run-1")) == 3
    assert reader.anomalies_of_model("silver.orders") == (an_anomaly("c", 2), an_anomaly(), an_anomaly("c"))
    assert len(reader.anomalies_of_model("silver.orders", 1)) == 1
