"""Every reason to run, or not to: the words that a user sees."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from tidegate.compiler.compiled import CompiledModel
from tidegate.contracts.connectors import CONNECTORS
from tidegate.contracts.ingestion import ContractStage, Ingestion, SilverColumn, SilverRules, SourceRules
from tidegate.lake.changes import TableChange, Untraceable
from tidegate.lake.consumed import Consumed, ConsumedFile
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import Progress, TableInput
from tidegate.names import TableName
from tidegate.planner.decide import (
    SHAPE_PROPERTY,
    Decision,
    ModelRequest,
    RunType,
    decide,
    keeps_history,
    result_is_complete,
)
from tidegate.planner.inputs import Inputs, ZoneState
from tidegate.planner.model_traits import unique_after
from tidegate.project.landing_files import UnconsumedFiles, ZoneFile
from tidegate.project.model import Materialized, Model, ModelSettings, Strategy

ORDERS = "shop.bronze.orders"
OWN = TableMetadata(
    location="",
    table_location="",
    uuid="m",
    format_version=3,
    fields=(),
    schema_id=0,
    schemas={},
    partition_fields=(),
    sort_fields=(),
    properties={},
    current_snapshot_id=None,
    snapshots={},
    refs={},
    next_row_id=0,
    last_sequence_number=0,
    files=(),
)
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


def inputs(found: TableChange | Untraceable | None = None, **changes: object) -> Inputs:
    changed = {} if found is None else {ORDERS: found}
    return replace(Inputs({ORDERS: SEEN}, namespace="shop", changed=changed), **changes)


def decided(compiled: CompiledModel, now: Inputs, **asked: object) -> Decision:
    return decide(compiled, OWN, PROGRESS, now, ModelRequest(**asked))  # type: ignore[arg-type]


def words(decision: Decision) -> str:
    return f"{decision.run_type}: {decision.reason}"


CHANGED = TableChange(1, 2, 1, 10, 10, 11, 2, 1, insert_only=False, may_delete=False)
APPENDED = replace(CHANGED, insert_only=True)
WORDS = "bronze.orders changed: about 2 rows"
RESHAPED = Untraceable("has other columns")
SETTINGS: dict[str, tuple[object, ...]] = {
    "deterministic": (True, False),
    "manual": (False, True),
    "fingerprint": ("f", "g"),
    "skip": ("auto", "never"),
    "watermark_column": (None, "t"),
}


@pytest.mark.parametrize(
    ("compiled", "now", "expected"),
    [
        (model(), inputs(), "skip: unchanged"),
        (model(), inputs(RESHAPED), "full: bronze.orders has other columns"),
        (model(fingerprint="g"), inputs(), "backfill: definition changed"),
        (model(deterministic=False), inputs(), "full: the query is not deterministic"),
        (model(skip="never"), inputs(), "full: skip: never"),
        (
            model(),
            inputs(Untraceable("changed", expired=True)),
            "backfill: the snapshot of bronze.orders that was read last no longer exists",
        ),
        (model(manual=True), inputs(CHANGED), f"full: {WORDS}; the query decides itself what it reads"),
        (model(zones=("z",)), inputs(CHANGED), f"full: {WORDS}; z is read whole"),
        (model(reads_itself=True), inputs(CHANGED), f"full: {WORDS}; the query reads its own table"),
        (
            model(Strategy.INCREMENTAL, watermark_column="t"),
            inputs(RESHAPED),
            "incremental: bronze.orders has other columns",
        ),
        (model(Strategy.INCREMENTAL, manual=True), inputs(CHANGED), f"incremental: {WORDS}"),
        (
            model(Strategy.APPEND_ONLY),
            inputs(CHANGED),
            f"incremental: {WORDS}; rows updated or deleted in bronze.orders are not taken",
        ),
        (model(Strategy.APPEND_ONLY, deterministic=False), inputs(), "skip: nothing new to append"),
        (
            model(Strategy.APPEND_ONLY, fingerprint="g"),
            inputs(),
            "incremental: definition changed: applies to new rows",
        ),
        (model(Strategy.CURRENT_STATE, fingerprint="g"), inputs(), "backfill: definition changed"),
        (model(Strategy.CURRENT_STATE), inputs(APPENDED), "incremental: bronze.orders gained 2 rows"),
        (model(Strategy.SNAPSHOT, fingerprint="g"), inputs(), "incremental: definition changed: applies to what comes"),
        (model(Strategy.SCD2, fingerprint="g"), inputs(), "backfill: definition changed"),
        (model(), inputs(untracked=frozenset({"erp.a.b"})), "full: erp.a.b does not say whether it changed"),
        (model(materialized=Materialized.VIEW), inputs(CHANGED), "skip: unchanged"),
        (
            model(materialized=Materialized.VIEW),
            inputs(RESHAPED, tables={ORDERS: replace(SEEN, columns="d")}),
            "full: columns of bronze.orders changed",
        ),
        (model(materialized=Materialized.VIEW, fingerprint="g"), inputs(), "backfill: definition changed"),
        (model(Strategy.TIME_INTERVAL), inputs(CHANGED), "skip: no missing interval"),
    ],
)
def test_decision_and_its_reason(compiled: CompiledModel, now: Inputs, expected: str) -> None:
    assert words(decided(compiled, replace(now, metadata={ORDERS: OWN}))) == expected


def test_first_run_and_full_refresh_are_backfills() -> None:
    assert words(decide(model(), None, None, inputs())) == "backfill: first run"
    assert words(decide(model(), OWN, None, inputs())) == "backfill: first run"


def test_a_table_that_no_run_made_is_replaced_not_added_to() -> None:
    assert decide(model(), OWN, None, inputs(), ModelRequest(full_refresh=True)).rebuild
    assert not decide(model(), None, None, inputs(), ModelRequest(full_refresh=True)).rebuild
    forced = decided(model(Strategy.APPEND_ONLY), inputs(), full_refresh=True)
    assert words(forced) == "backfill: --full-refresh"
    assert forced.rebuild


def test_new_and_replaced_files_are_counted() -> None:
    def zone(new: tuple[ZoneFile, ...], replaced: tuple[ZoneFile, ...]) -> Inputs:
        state = ZoneState("orders", (FILE,), Consumed("orders", ()), UnconsumedFiles(new, replaced))
        return inputs(zones={"orders": state})

    compiled = model(Strategy.APPEND_ONLY, zones=("orders",))
    assert words(decided(compiled, zone((FILE,), ()))) == "incremental: 1 new file in orders"
    both = words(decided(compiled, zone((FILE, FILE), (FILE,))))
    assert both == "incremental: 2 new files in orders; 1 replaced file in orders"
    assert words(decided(compiled, zone((), ()))) == "skip: unchanged"


def test_digests_are_recorded_once_where_a_list_of_consumed_files_lacks_them() -> None:
    compiled = model(Strategy.APPEND_ONLY, zones=("orders",))
    for digest, record in ((None, True), ("xx", False)):
        taken = Consumed("orders", (ConsumedFile(FILE.path, FILE.size, FILE.mtime_ns, "run-1", digest),))
        state = ZoneState("orders", (FILE,), taken, UnconsumedFiles())
        decision = decided(compiled, inputs(zones={"orders": state}))
        assert decision.run_type is RunType.SKIP
        assert decision.record_digests is record


def test_missing_and_asked_intervals() -> None:
    compiled = model(Strategy.TIME_INTERVAL)
    assert words(decided(compiled, inputs(), intervals=(DAY,))) == "incremental: 1 interval missing"
    asked = decided(compiled, inputs(), intervals=(DAY, DAY), explicit_range=True)
    assert words(asked) == "incremental: 2 intervals asked for"


def test_what_is_rebuilt_when_its_definition_changes() -> None:
    """A table whose rows can be had again is made anew; one that keeps history never is."""
    rebuilt = {strategy: decided(model(strategy, fingerprint="g"), inputs()).rebuild for strategy in Strategy}
    kept = {Strategy.APPEND_ONLY, Strategy.SCD2, Strategy.SNAPSHOT}
    assert {strategy for strategy, anew in rebuilt.items() if not anew} - {Strategy.TIME_INTERVAL} == kept
    for compiled in (
        model(Strategy.INCREMENTAL, fingerprint="g", zones=("orders",)),
        model(Strategy.INCREMENTAL, fingerprint="g", watermark_column="t"),
        model(Strategy.INCREMENTAL, fingerprint="g", manual=True),
    ):
        assert keeps_history(compiled)
        assert not decided(compiled, inputs()).rebuild


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


def test_a_run_without_its_delta_says_why() -> None:
    delta = Decision(RunType.INCREMENTAL, "bronze.orders changed", complete=True, changes={})
    assert words(delta.from_all_rows("more is touched", model())) == "full: bronze.orders changed; more is touched"
    upsert = model(Strategy.INCREMENTAL, watermark_column="t")
    assert delta.from_all_rows("more is touched", upsert).run_type is RunType.INCREMENTAL


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("found", [None, CHANGED, RESHAPED, Untraceable("changed", expired=True)])
def test_no_decision_is_without_a_reason(strategy: Strategy, exists: bool, found: TableChange | Untraceable) -> None:
    now = inputs(found, metadata={ORDERS: OWN})
    own, progress = (OWN, PROGRESS) if exists else (None, None)
    for values in product(*SETTINGS.values()):
        given = dict(zip(SETTINGS, values, strict=True))
        for asked in (
            ModelRequest(),
            ModelRequest(full_refresh=True),
            ModelRequest(intervals=(DAY,)),
            ModelRequest(always_deltas=True),
        ):
            assert decide(model(strategy, **given), own, progress, now, asked).reason.strip()


@pytest.mark.parametrize(
    ("strategy", "anew", "before", "after"),
    [
        (Strategy.INCREMENTAL, True, (), ("id",)),
        (Strategy.INCREMENTAL, False, ("id",), ("id",)),
        (Strategy.INCREMENTAL, False, (), ()),
        (Strategy.INCREMENTAL, False, ("id", "day"), ()),
        (Strategy.INCREMENTAL, True, ("id", "day"), ("id",)),
        (Strategy.CURRENT_STATE, False, ("id",), ("id",)),
        (Strategy.DELETE_INSERT, True, (), ()),
        (Strategy.FULL_REFRESH, True, ("id",), ()),
    ],
)
def test_a_key_is_unique_from_the_moment_the_table_was_made(
    strategy: Strategy, anew: bool, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    assert unique_after(model(strategy, unique_key=("id",)), anew, before) == after


RULES = SilverRules("m", "m", (SilverColumn("id", "bigint"),), ("id",), "current_state")
SOURCE = SourceRules("s", "orders", CONNECTORS["landing_push"], "shop", "shop", "orders", "csv", full_snapshot=False)


def silver(rules: SilverRules = RULES, **changes: object) -> CompiledModel:
    compiled = model(Strategy.CURRENT_STATE, **changes)
    stage = ContractStage(Ingestion("c", "1", SOURCE, rules), is_silver=True)
    return replace(compiled, model=replace(compiled.model, stage=stage))


@pytest.mark.parametrize(
    ("compiled", "own_snapshot", "rows", "expected"),
    [
        (silver(), None, 0, "skip: no quarantined row is open"),
        (silver(fingerprint="g"), None, 0, "skip: no quarantined row is open"),
        (silver(), None, 1, "incremental: replay of 1 quarantined row"),
        (silver(fingerprint="g"), None, 2, "incremental: replay of 2 quarantined rows"),
        (
            silver(replace(RULES, columns=(SilverColumn("id", "int"),)), fingerprint="g"),
            None,
            2,
            "backfill: replay of 2 quarantined rows and all others: the contract's columns, key or strategy changed",
        ),
        (
            silver(),
            7,
            2,
            "backfill: replay of 2 quarantined rows and all others: its own rows were changed by something else",
        ),
    ],
)
def test_a_replay_reads_open_rows_alone_where_they_fit_beside_the_others(
    compiled: CompiledModel, own_snapshot: int | None, rows: int, expected: str
) -> None:
    own = replace(OWN, properties={SHAPE_PROPERTY: Ingestion("c", "1", SOURCE, RULES).shape})
    progress = replace(PROGRESS, snapshot_id=own_snapshot)
    decision = decide(compiled, own, progress, inputs(APPENDED), ModelRequest(replayed_rows=rows))
    assert words(decision) == expected
    assert decision.replay == expected.startswith("incremental")
    assert decision.rebuild == expected.startswith("backfill")
    assert bool(decision.warnings) == (decision.replay and compiled.fingerprint == "g")
