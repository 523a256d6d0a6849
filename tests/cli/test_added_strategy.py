"""A strategy is added by its declaration: what compiles, plans and shows models knows it from that alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.compiler.projects import build, table
from tests.planner.test_decisions import CHANGED, decided, inputs, model, words
from tidegate.compiler.changes.interfaces import interfaces
from tidegate.planner.decide import keeps_history, result_is_complete
from tidegate.project.model import Materialized
from tidegate.project.setting_keys import SPELLINGS, KindValue
from tidegate.project.strategies import STRATEGIES, Deltas, Strategy, StrategyTraits

NAME = "newest_groups"
TRAITS = StrategyTraits(
    summary="replaces groups and keeps the former ones",
    refused_key="it stays as it was",
    deltas=Deltas.NONE,
    key_setting="group_key",
    required_settings=("group_key",),
    keeps_history=True,
    never_rereads=True,
    keeps_versions=True,
)
QUERY = "SELECT 1 AS id, 5 AS amount\n"


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Strategy:
    """As another member of the enum would be."""
    strategy = str.__new__(Strategy, NAME)
    strategy._value_, strategy._name_ = NAME, NAME.upper()
    monkeypatch.setitem(Strategy._value2member_map_, NAME, strategy)
    monkeypatch.setitem(STRATEGIES, strategy, TRAITS)  # type: ignore[arg-type]
    monkeypatch.setitem(SPELLINGS, NAME, KindValue(strategy, Materialized.TABLE))  # type: ignore[arg-type]
    return strategy


@pytest.mark.usefixtures("added")
def test_it_compiles_by_its_own_rules(tmp_path: Path) -> None:
    header = f"-- @merge_strategy: {NAME}\n"
    keyless = build(tmp_path / "keyless", {"models/silver/orders.sql": header + QUERY}).compiled
    assert [error.message for error in keyless.errors] == [f"strategy {NAME} needs group_key"]
    files = {"models/silver/orders.sql": f"{header}-- @group_key: id\n{QUERY}"}
    compiled = build(tmp_path / "keyed", files).compiled
    assert not compiled.errors
    interface = interfaces(compiled)[table("silver.orders")]
    assert (interface.strategy, interface.unique_key, interface.is_ordered) == (NAME, ("id",), False)
    assert [column.name for column in interface.columns.columns][2:] == ["valid_from", "valid_to", "is_current"]
    owned = build(
        tmp_path / "owned", {"models/silver/orders.sql": f"{header}-- @group_key: id\nSELECT 1 AS id, 2 AS valid_to"}
    )
    assert f"which strategy {NAME} fills itself" in owned.compiled.errors[0].message


def test_it_is_planned_by_its_own_rules(added: Strategy) -> None:
    compiled = model(added, fingerprint="g", group_key=("id",))
    assert words(decided(compiled, inputs())) == "incremental: definition changed: applies to what comes"
    changed = words(decided(model(added, group_key=("id",)), inputs(CHANGED)))
    assert changed.endswith(f"; {NAME} takes all rows as they are")
    assert keeps_history(compiled)
    assert not result_is_complete(compiled)


@pytest.mark.usefixtures("added")
def test_the_commands_show_it(project: Path, tidegate: Call) -> None:
    folder = project / "models" / "silver"
    folder.mkdir(parents=True)
    (folder / "orders.sql").write_text(f"-- @merge_strategy: {NAME}\n-- @group_key: id\n{QUERY}")
    assert NAME in tidegate("ls").out
    assert NAME in tidegate("show", "silver.orders").out
    (step,) = tidegate("plan", "--json").document["steps"]
    assert (step["strategy"], step["run_type"]) == (NAME, "backfill")
