"""Every reason to run, or not to: the words that a user sees."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tidegate.compiler.values import CompiledModel
from tidegate.lake.consumed import Consumed
from tidegate.lake.progress import Progress, TableInput
from tidegate.names import TableName
from tidegate.planner.decide import Decision, decide, keeps_history, result_is_complete
from tidegate.planner.inputs import Inputs, ZoneState
from tidegate.project.landing import NewFiles, ZoneFile
from tidegate.project.model import Materialized, Model, ModelSettings, Strategy

ORDERS = "shop.bronze.orders"
SEEN = TableInput(uuid="u", snapshot_id=1, sequence_number=1, next_row_id=10, columns="c")
PROGRESS = Progress(run_id="r", fingerprint="f", run_type="full", strategy="full_refresh", tables={ORDERS: SEEN})
FILE = ZoneFile("a.csv", 1, 1)
DAY = (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC))


def model(strategy: Strategy = Strategy.FULL_REFRESH, **changes: object) -> CompiledModel:
    known = CompiledModel.__dataclass_fields__
    settings = ModelSettings(strategy=strategy, **{k: v for k, v in changes.items() if k not in known})  # type: ignore[arg-type]
    compiled = CompiledModel(
        model=Model(TableName("shop", "silver", "m"), Path("models/silver/m.sql"), "", settings),
        depends_on=(TableName("shop", "bronze", "orders"),),
        sources=(),
        zones=(),
        fingerprint="f",
        deterministic=True,
        manual=False,
        uses_watermark=False,
        reads_itself=False,
    )
    return replace(compiled, **{k: v for k, v in changes.items() if k in known})


def inputs(now: TableInput = SEEN, **changes: object) -> Inputs:
    return replace(Inputs({ORDERS: now}, namespace="shop"), **changes)


def words(decision: Decision) -> str:
    return f"{decision.run_type}: {decision.reason}"


CHANGED = replace(SEEN, snapshot_id=2)


@pytest.mark.parametrize(
    ("compiled", "now", "expected"),
    [
        (model(), inputs(), "skip: unchanged"),
        (model(), inputs(CHANGED), "full: bronze.orders changed"),
        (model(), inputs(replace(SEEN, columns="d")), "full: columns of bronze.orders changed"),
        (model(), inputs(replace(SEEN, uuid="v")), "full: bronze.orders was recreated"),
        (model(), Inputs({ORDERS: SEEN, "shop.a.b": SEEN}, namespace="shop"), "full: new input a.b"),
        (model(fingerprint="g"), inputs(), "backfill: definition changed"),
        (model(deterministic=False), inputs(), "full: the query is not deterministic"),
        (model(skip="never"), inputs(), "full: skip: never"),
        (
            model(),
            inputs(lost=frozenset({ORDERS})),
            "backfill: the snapshot of bronze.orders that was read last no longer exists",
        ),
        (model(Strategy.INCREMENTAL), inputs(CHANGED), "full: bronze.orders changed"),
        (model(Strategy.INCREMENTAL, watermark_column="t"), inputs(CHANGED), "incremental: bronze.orders changed"),
        (model(Strategy.INCREMENTAL, manual=True), inputs(CHANGED), "incremental: bronze.orders changed"),
        (model(Strategy.APPEND_ONLY), inputs(CHANGED), "incremental: bronze.orders changed"),
        (model(Strategy.APPEND_ONLY, deterministic=False), inputs(), "skip: nothing new to append"),
        (
            model(Strategy.APPEND_ONLY, fingerprint="g"),
            inputs(),
            "incremental: definition changed: applies to new rows",
        ),
        (model(Strategy.SNAPSHOT, fingerprint="g"), inputs(), "incremental: definition changed: applies to what comes"),
        (model(Strategy.SCD2, fingerprint="g"), inputs(), "backfill: definition changed"),
        (model(materialized=Materialized.VIEW), inputs(CHANGED), "skip: unchanged"),
        (
            model(materialized=Materialized.VIEW),
            inputs(replace(SEEN, columns="d")),
            "full: columns of bronze.orders changed",
        ),
        (model(materialized=Materialized.VIEW, fingerprint="g"), inputs(), "backfill: definition changed"),
        (model(Strategy.TIME_INTERVAL), inputs(CHANGED), "skip: no missing interval"),
    ],
)
def test_decision_and_its_reason(compiled: CompiledModel, now: Inputs, expected: str) -> None:
    assert words(decide(compiled, True, PROGRESS, now)) == expected


def test_first_run_and_full_refresh_are_backfills() -> None:
    assert words(decide(model(), False, None, inputs())) == "backfill: first run"
    assert words(decide(model(), True, None, inputs())) == "backfill: first run"
    forced = decide(model(Strategy.APPEND_ONLY), True, PROGRESS, inputs(), full_refresh=True)
    assert words(forced) == "backfill: --full-refresh"
    assert forced.rebuild


def test_new_and_replaced_files_are_counted() -> None:
    def zone(new: tuple[ZoneFile, ...], replaced: tuple[ZoneFile, ...]) -> Inputs:
        state = ZoneState("orders", (FILE,), Consumed("orders", ()), NewFiles(new, replaced))
        return inputs(zones={"orders": state})

    compiled = model(Strategy.APPEND_ONLY, zones=("orders",))
    assert words(decide(compiled, True, PROGRESS, zone((FILE,), ()))) == "incremental: 1 new file in orders"
    both = words(decide(compiled, True, PROGRESS, zone((FILE, FILE), (FILE,))))
    assert both == "incremental: 2 new files in orders; 1 replaced file in orders"
    assert words(decide(compiled, True, PROGRESS, zone((), ()))) == "skip: unchanged"


def test_missing_and_asked_intervals() -> None:
    compiled = model(Strategy.TIME_INTERVAL)
    assert words(decide(compiled, True, PROGRESS, inputs(), intervals=(DAY,))) == "incremental: 1 interval missing"
    asked = decide(compiled, True, PROGRESS, inputs(), intervals=(DAY, DAY), intervals_asked=True)
    assert words(asked) == "incremental: 2 intervals asked for"


def test_what_is_rebuilt_when_its_definition_changes() -> None:
    """A table whose rows can be had again is made anew; one that keeps history never is."""
    rebuilt = {
        strategy: decide(model(strategy, fingerprint="g"), True, PROGRESS, inputs()).rebuild for strategy in Strategy
    }
    kept = {Strategy.APPEND_ONLY, Strategy.SCD2, Strategy.SNAPSHOT}
    assert {strategy for strategy, anew in rebuilt.items() if not anew} - {Strategy.TIME_INTERVAL} == kept
    for compiled in (
        model(Strategy.INCREMENTAL, fingerprint="g", zones=("orders",)),
        model(Strategy.INCREMENTAL, fingerprint="g", watermark_column="t"),
        model(Strategy.INCREMENTAL, fingerprint="g", manual=True),
    ):
        assert keeps_history(compiled)
        assert not decide(compiled, True, PROGRESS, inputs()).rebuild


@pytest.mark.parametrize(
    ("compiled", "complete"),
    [
        (model(Strategy.INCREMENTAL), True),
        (model(Strategy.INCREMENTAL, watermark_column="t"), False),
        (model(Strategy.INCREMENTAL, watermark_column="t", deletes="propagate"), True),
        (model(Strategy.INCREMENTAL, deletes="ignore"), False),
        (model(Strategy.TRACKED, zones=("orders",)), False),
        (model(Strategy.TRACKED), True),
        (model(Strategy.SCD2, manual=True), False),
        (model(Strategy.APPEND_ONLY), False),
    ],
)
def test_only_a_managed_result_says_what_is_gone(compiled: CompiledModel, complete: bool) -> None:
    assert result_is_complete(compiled) is complete
