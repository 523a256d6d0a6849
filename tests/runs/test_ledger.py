"""What of an interrupted run's branch is kept, and what is put back: decided from metadata, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.test_plan import write_table
from tests.lake.places import Place
from tidegate.compiler import compile_project
from tidegate.compiler.compiled import Compiled
from tidegate.config import Settings, load_settings
from tidegate.lake.branch_catalog import BranchCatalog, Pointer
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.consumed import Consumed, ConsumedFile, write_consumed
from tidegate.lake.progress import Progress
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.inputs import read_inputs
from tidegate.project import load_project
from tidegate.runs.clock import SystemClock
from tidegate.runs.ledger import EarlierBuild, Ledger
from tidegate.state import RunRecord, StateStore, open_state

RUN = "run-20261115-120000-000"
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


class World:
    """A project, its lake and its history; models are "built" by writing the metadata that a run would leave."""

    def __init__(self, root: Path, store: StateStore, catalog: BranchCatalog) -> None:
        self.root = root
        self.store = store
        self.record = RunRecord(RUN, "shop", "run", RUN, "run", NOON)
        self.catalog = catalog
        self.snapshot = 10
        self.outside: tuple[TableName, ...] = ()

    @property
    def settings(self) -> Settings:
        return load_settings(self.root)

    @property
    def compiled(self) -> Compiled:
        return compile_project(load_project(self.settings), self.settings, self.outside, {})

    @property
    def resumed(self) -> Ledger:
        record = RunRecord(RUN, "shop", "run", RUN, "run", NOON, resumes=1)
        return Ledger.of(self.store, record, SystemClock(), self.settings.sources)

    def model(self, name: str, sql: str) -> None:
        layer, table = name.split(".")
        path = self.root / "models" / layer / f"{table}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(sql)

    def write(self, name: str, branch: str = RUN, run_id: str | None = None) -> Pointer:
        """Rows on the branch, nothing put down."""
        table, compiled, lake = TableName.parse(name, "shop"), self.compiled, BranchView(self.catalog, branch)
        model = compiled.models[table]
        inputs = read_inputs(model, compiled, lake, None)
        self.snapshot += 1
        folder = self.root / "warehouse" / table.name
        taken = {
            zone: write_consumed(
                f"file:{folder}",
                Consumed(zone, tuple(ConsumedFile(f.path, f.size, f.mtime_ns, run_id or branch) for f in state.files)),
            )
            for zone, state in inputs.zones.items()
        }
        progress = Progress(
            run_id or branch,
            model.fingerprint,
            "full",
            model.model.settings.written_as,
            tables=inputs.tables,
            zones=taken,
            checks=model.checks_digest,
        )
        pointer = write_table(folder, (self.snapshot,), progress)
        self.catalog.create_namespace(branch, table)
        self.catalog.restore(branch, table, pointer)
        return pointer

    def build(self, *names: str) -> None:
        for name in names:
            self.write(name)
            model = self.compiled.models[TableName.parse(name, "shop")]
            ledger = Ledger.of(self.store, self.record, SystemClock(), self.settings.sources)
            ledger.add_built(model, self.compiled, BranchView(self.catalog, RUN))

    def publish(self, *names: str, branch: str = RUN) -> None:
        self.catalog.publish(branch, [TableName.parse(name, "shop") for name in names])

    def by_another_run(self, *names: str, run_id: str = "run-20261115-130000-000") -> None:
        """Built on main as it is, and published."""
        self.catalog.create_branch("run-another")
        for name in names:
            self.write(name, "run-another", run_id)
        self.publish(*names, branch="run-another")
        self.catalog.drop_branch("run-another")

    def take_up(self, *selected: str) -> None:
        tables = {TableName.parse(name, "shop") for name in selected} or set(self.compiled.models)
        self.resumed.resume_branch(self.catalog, RUN, self.compiled, tables)

    def reuse_or_restore(self, name: str) -> EarlierBuild:
        compiled = self.compiled
        model = compiled.models[TableName.parse(name, "shop")]
        return self.resumed.reuse_or_restore(model, compiled, BranchView(self.catalog, RUN), self.settings)

    def at(self, name: str, branch: str = RUN) -> Pointer | None:
        return self.catalog.pointer(branch, TableName.parse(name, "shop"))


KEPT = EarlierBuild(reused=True)


@contextmanager
def begun(root: Path, catalog: BranchCatalog) -> Iterator[World]:
    (root / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    with open_state(f"sqlite:///{root}/state.db") as store:
        world = World(root, store, catalog)
        world.model("silver.a", "SELECT 1 AS amount\n")
        world.model("silver.b", "SELECT amount FROM silver.a\n")
        world.model("gold.c", "SELECT amount FROM silver.b\n")
        catalog.create_branch(RUN)
        yield world


@pytest.fixture
def world(tmp_path: Path, catalog: EmbeddedCatalog) -> Iterator[World]:
    with begun(tmp_path, catalog) as world:
        yield world


@pytest.fixture
def world_of_each_kind(tmp_path: Path, place: Place) -> Iterator[World]:
    with begun(tmp_path, place.open()) as world:
        yield world


def test_what_was_checked_is_kept_and_what_was_only_written_is_put_back(world_of_each_kind: World) -> None:
    world = world_of_each_kind
    world.build("silver.a")
    built = world.at("silver.a")
    world.write("silver.b")
    world.take_up()
    assert (world.at("silver.a"), world.at("silver.b")) == (built, None)
    assert world.reuse_or_restore("silver.a") == KEPT
    assert world.reuse_or_restore("silver.b") == EarlierBuild()


def test_a_table_written_again_after_its_entry_is_put_back(world: World) -> None:
    world.build("silver.a")
    world.write("silver.a")
    world.take_up()
    assert world.at("silver.a") is None
    assert world.reuse_or_restore("silver.a") == EarlierBuild()


def test_a_run_that_was_never_resumed_keeps_nothing(world: World) -> None:
    world.build("silver.a")
    fresh = Ledger.of(world.store, world.record, SystemClock())
    model = world.compiled.models[TableName.parse("silver.a", "shop")]
    assert (
        fresh.reuse_or_restore(model, world.compiled, BranchView(world.catalog, RUN), world.settings) == EarlierBuild()
    )


def test_another_definition_is_built_again_with_all_that_reads_it(world: World) -> None:
    world.build("silver.a", "silver.b", "gold.c")
    world.model("silver.b", "SELECT amount + 1 AS amount FROM silver.a\n")
    world.take_up()
    assert world.reuse_or_restore("silver.a") == KEPT
    assert world.reuse_or_restore("silver.b") == EarlierBuild(
        note="built before the run was interrupted, but its definition changed"
    )
    assert world.at("silver.b") is None
    world.write("silver.b")
    earlier = world.reuse_or_restore("gold.c")
    assert (earlier.reused, earlier.note.partition(", but ")[2]) == (
        False,
        "silver.b has another history than the one that was read",
    )
    assert world.at("gold.c") is None


def test_other_checks_are_asked_of_rows_that_are_built_again(world: World) -> None:
    world.build("silver.a")
    world.model("silver.a", "-- @audit: row_count(>, 0)\nSELECT 1 AS amount\n")
    world.take_up()
    assert world.reuse_or_restore("silver.a").note.endswith("but its checks changed")


@pytest.mark.parametrize("sql", ["SELECT current_timestamp() AS amount\n", "-- @skip: never\nSELECT 1 AS amount\n"])
def test_a_model_that_is_never_skipped_is_kept_as_well(world: World, sql: str) -> None:
    world.model("silver.a", sql)
    world.build("silver.a")
    world.take_up()
    assert world.reuse_or_restore("silver.a") == KEPT


def test_what_was_read_from_a_source_that_is_another_one_now_is_read_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which rows a source holds it does not say; that it is not the same place can be seen."""

    def source(lines: str) -> None:
        text = f'[project]\nname = "shop"\n[sources.crm]\nkind = "database"\nuser = "app"\n{lines}\n'
        (world.root / "tidegate.toml").write_text(text)

    monkeypatch.setenv("SECRET", "one")
    source('url = "postgresql://test.example/crm"\npassword = "${SECRET}"')
    world.outside = (TableName("crm", "public", "orders"),)
    world.model("silver.a", "SELECT amount FROM crm.public.orders\n")
    world.build("silver.a")
    world.take_up()
    monkeypatch.setenv("SECRET", "two")
    source('url = "postgresql://test.example/crm"\npassword = "${SECRET}"\ntimeout = "5s"')
    assert world.reuse_or_restore("silver.a") == KEPT
    source('url = "postgresql://prod.example/crm"')
    assert (
        world.reuse_or_restore("silver.a").note
        == "built before the run was interrupted, but the settings of crm changed"
    )
    assert world.at("silver.a") is None


def test_rows_whose_checks_looked_at_another_state_of_a_table_are_built_and_checked_again(world: World) -> None:
    """Not where that table is made from these rows: then they saw what was published before."""
    world.model("silver.b", "-- @constraint: references(amount, silver.a, amount)\nSELECT 1 AS amount\n")
    world.build("silver.a")
    world.write("silver.b")
    lake, model = BranchView(world.catalog, RUN), world.compiled.models[TableName.parse("silver.b", "shop")]
    looked_at = lake.metadata(TableName.parse("silver.a", "shop"))
    assert looked_at is not None
    checked = dict.fromkeys(("shop.silver.a", "shop.gold.c"), looked_at.table_input())
    Ledger.of(world.store, world.record, SystemClock()).add_built(model, world.compiled, lake, checked=checked)
    world.build("gold.c")
    world.take_up()
    assert world.reuse_or_restore("silver.b") == KEPT
    world.write("silver.a")
    note = "built before the run was interrupted, but silver.a, which its checks look at, changed"
    assert world.reuse_or_restore("silver.b") == EarlierBuild(note=note)
    assert world.at("silver.b") is None


def test_an_input_that_moved_on_main_meanwhile_is_read_anew(world: World) -> None:
    world.by_another_run("silver.a")
    world.catalog.refresh_branch(RUN, ())
    world.build("silver.b", "gold.c")
    world.by_another_run("silver.a")
    world.take_up()
    assert world.at("silver.a") == world.at("silver.a", "main")
    assert not world.reuse_or_restore("silver.b").reused
    assert world.at("silver.b") is None


def test_a_table_that_another_run_published_meanwhile_gives_way(world_of_each_kind: World) -> None:
    world = world_of_each_kind
    world.build("silver.a", "silver.b")
    world.by_another_run("silver.a")
    world.take_up()
    assert world.at("silver.a") == world.at("silver.a", "main")
    assert world.reuse_or_restore("silver.a") == EarlierBuild()
    assert not world.reuse_or_restore("silver.b").reused


def test_what_is_not_selected_any_more_or_gone_is_put_back(world: World) -> None:
    world.build("silver.a", "silver.b", "gold.c")
    (world.root / "models/gold/c.sql").unlink()
    world.take_up("silver.a")
    assert (world.at("silver.b"), world.at("gold.c")) == (None, None)
    assert world.reuse_or_restore("silver.a") == KEPT


def test_what_the_run_published_is_kept_on_a_new_branch(world_of_each_kind: World) -> None:
    world = world_of_each_kind
    world.build("silver.a", "silver.b")
    world.publish("silver.a")
    world.catalog.drop_branch(RUN)
    world.catalog.create_branch(RUN)
    assert world.reuse_or_restore("silver.a") == KEPT
    assert world.reuse_or_restore("silver.b") == EarlierBuild()


def test_what_the_run_published_is_kept_though_it_was_compacted(world: World) -> None:
    world.build("silver.a")
    world.publish("silver.a")
    world.catalog.drop_branch(RUN)
    world.by_another_run("silver.a", run_id=RUN)
    world.catalog.create_branch(RUN)
    assert world.reuse_or_restore("silver.a") == KEPT


def test_what_another_run_published_since_is_planned_like_any_other(world: World) -> None:
    world.build("silver.a")
    world.publish("silver.a")
    world.catalog.drop_branch(RUN)
    world.by_another_run("silver.a")
    world.catalog.create_branch(RUN)
    assert world.reuse_or_restore("silver.a") == EarlierBuild()


def test_a_wave_that_was_published_stays_on_the_branch(world: World) -> None:
    world.build("silver.a")
    world.publish("silver.a")
    world.build("silver.b")
    world.take_up()
    assert (world.reuse_or_restore("silver.a"), world.reuse_or_restore("silver.b")) == (KEPT, KEPT)
    assert [change.table.name for change in world.catalog.changed_tables(RUN)] == ["b"]


def test_a_new_landing_file_is_read_with_the_others_and_each_taken_one_is_recorded(world: World) -> None:
    zone = world.root / "landing" / "events"
    zone.mkdir(parents=True)
    (zone / "a.csv").write_text("amount\n1\n")
    world.model("silver.a", "-- @merge_strategy: append_only\nSELECT * FROM {{ landing_zone('events') }}\n")
    world.build("silver.a")
    entries = world.store.reader().progress_entries(RUN)
    assert [(entry.model, entry.file) for entry in entries] == [
        ("shop.silver.a", ""),
        ("shop.silver.a", "events/a.csv"),
    ]
    world.take_up()
    assert world.reuse_or_restore("silver.a") == KEPT
    (zone / "b.csv").write_text("amount\n2\n")
    assert world.reuse_or_restore("silver.a").note.endswith("but 1 new file in events")
    assert world.at("silver.a") is None
