"""Runs of several projects on one lake at the same time, that write the same tables and read what the others write.

Four teams, each with a project of its own, in processes of their own (the long form), or two in threads (the short
one). Whatever they come to is looked at after each round, when all have ended.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import QUICK_JVM
from tests.lake.places import Place
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.operations.query import query
from tidegate.operations.run import run_project
from tidegate.runs import RunOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
SERVERS = pytest.mark.skipif(not PROVE, reason="tests/lake tries every catalog: only with TIDEGATE_PROVE")
CATALOGS = pytest.mark.parametrize(
    "place", ["embedded", *(pytest.param(kind, marks=SERVERS) for kind in ("jdbc", "nessie"))], indirect=True
)
"""Not REST: runs that each publish several tables meet in the middle of it, see docs/catalogs.md."""

SECONDS = 300.0
"""Longer than any round takes: who waits for so long hangs."""

ROUNDS = (1, 1, 1, 3)
"""How often each team runs in each: in the last one nobody waits for the others."""

MODULUS = 9973
LOG = "-- @merge_strategy: append_only\nSELECT n FROM {{ landing_zone('log') }}\n"
COUNTER = "-- @skip: never\nSELECT coalesce(max(n), 0) + 1 AS n FROM {{ this }}\n"


def number(formula: str, source: str) -> str:
    return f"-- @skip: never\nSELECT CAST(({formula}) % {MODULUS} AS BIGINT) AS n FROM {source}\n"


TOTAL = "SELECT CAST(sum(n) AS BIGINT) AS n FROM bronze.log\n"
SEED = {
    **{f"a.{name}": number("1", "range(1)") for name in "xyz"},
    "a.counter": COUNTER,
    "bronze.log": LOG,
    "gold.total": TOTAL,
}
TEAMS: dict[str, dict[str, str]] = {
    "left": {"a.x": number("2 * y.n + 1", "a.y"), "a.counter": COUNTER, "bronze.log": LOG},
    "right": {"a.y": number("3 * x.n + 2", "a.x"), "a.counter": COUNTER, "bronze.log": LOG},
    "both": {
        "a.z": number("100 * x.n + y.n", "a.x CROSS JOIN a.y"),
        "gold.total": TOTAL,
    },
    "chain": {"a.x": number("7 * z.n + 4", "a.z"), "a.y": number("5 * x.n + 3", "a.x"), "a.counter": COUNTER},
}
"""`left` and `right` read what the other writes, and `chain` writes both; all but `both` count themselves."""


@dataclass(frozen=True)
class State:
    """The lake's tables. `delivered` is what lies in the landing zone, whether it was loaded or not."""

    x: int
    y: int
    z: int
    counter: int
    total: int
    log: tuple[int, ...]
    delivered: tuple[int, ...] = field(compare=False, default=())


def left(s: State) -> State:
    return replace(s, x=(2 * s.y + 1) % MODULUS, counter=s.counter + 1, log=s.delivered)


def right(s: State) -> State:
    return replace(s, y=(3 * s.x + 2) % MODULUS, counter=s.counter + 1, log=s.delivered)


def both(s: State) -> State:
    return replace(s, z=(100 * s.x + s.y) % MODULUS, total=sum(s.log))


def chain(s: State) -> State:
    x = (7 * s.z + 4) % MODULUS
    return replace(s, x=x, y=(5 * x + 3) % MODULUS, counter=s.counter + 1)


ALONE: dict[str, Callable[[State], State]] = {"left": left, "right": right, "both": both, "chain": chain}
FROM_INPUTS: dict[tuple[str, str], Callable[[Mapping[str, int]], int]] = {
    ("left", "x"): lambda seen: (2 * seen["y"] + 1) % MODULUS,
    ("right", "y"): lambda seen: (3 * seen["x"] + 2) % MODULUS,
    ("both", "z"): lambda seen: (100 * seen["x"] + seen["y"]) % MODULUS,
    ("chain", "x"): lambda seen: (7 * seen["z"] + 4) % MODULUS,
    ("chain", "y"): lambda seen: (5 * seen["x"] + 3) % MODULUS,
}


@dataclass(frozen=True)
class Ended:
    team: str
    run_id: str
    status: str
    kind: str | None
    conflicts: int
    published: tuple[str, ...]
    seconds: float
    error: str | None


def work(root: Path, team: str, rounds: tuple[int, ...], together: Any, ended: Any) -> None:
    """Run the team's project so many times in each round, and again where it lost against the others."""
    settings = load_settings(root)
    try:
        for runs in rounds:
            together.wait(SECONDS)
            while runs:
                started = monotonic()
                result = run_project(settings, RunOptions())
                runs -= result.failure_kind != "Conflict"
                publish, errors = result.publish, [result.error, *(m.error for m in result.materializations)]
                facts = (result.run_id, result.status, result.failure_kind, publish.conflicts, publish.tables)
                ended.put(Ended(team, *facts, monotonic() - started, next(filter(None, errors), None)))
            together.wait(SECONDS)
    except BaseException:
        together.abort()
        raise


class Lake:
    """The teams' folders around one catalog, and what is on main."""

    def __init__(self, folder: Path, place: Place, isolation: str, spark: SparkSession) -> None:
        self.folder, self.spark = folder, spark
        self.toml = self._toml(place, isolation)
        self.delivered: list[int] = []
        self.deliver(1)
        self.project("seed", SEED)
        for team, models in TEAMS.items():
            self.project(team, models)
        self.settings = load_settings(folder / "seed")
        assert run_project(self.settings, RunOptions()).status == "success"

    def _toml(self, place: Place, isolation: str) -> str:
        lake = f'catalog_path = "{place.folder / "catalog.db"}"'
        if place.kind == "jdbc":
            lake = 'catalog = "jdbc"\nuri = "${LAKE}"'
        elif place.kind == "nessie":
            uri, main = place.address.split(" ")
            lake = f'catalog = "nessie"\nuri = "{uri}"\nref = "{main}"'
        return f"""[project]
name = "shop"

[lake]
warehouse = "{place.folder / "warehouse"}"
{lake}

[state]
url = "sqlite:///{self.folder / "state.db"}"

[landing]
root = "{self.folder / "landing"}"

[run]
isolation = "{isolation}"
profiles = false

[spark]
master = "local[1]"
memory = "640m"

[spark.conf]
"spark.driver.extraJavaOptions" = "{QUICK_JVM}"
"""

    def project(self, name: str, models: Mapping[str, str]) -> None:
        files = {f"models/{model.replace('.', '/')}.sql": sql for model, sql in models.items()}
        for path, text in {"tidegate.toml": self.toml, **files}.items():
            target = self.folder / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def deliver(self, value: int) -> None:
        zone = self.folder / "landing" / "log"
        zone.mkdir(parents=True, exist_ok=True)
        (zone / f"{value}.csv").write_text(f"n\n{value}\n")
        self.delivered.append(value)

    @property
    def catalog(self) -> BranchCatalog:
        return open_catalog(self.settings)

    def state(self) -> State:
        (row,) = query(
            self.settings,
            "SELECT (SELECT max(n) FROM a.x) AS x, (SELECT max(n) FROM a.y) AS y, (SELECT max(n) FROM a.z) AS z,"
            " (SELECT max(n) FROM a.counter) AS counter, (SELECT max(n) FROM gold.total) AS total,"
            " (SELECT array_sort(collect_list(n)) FROM bronze.log) AS log",
            None,
            self.spark,
        ).rows
        numbers = {name: int(str(row[name])) for name in ("x", "y", "z", "counter", "total")}
        log: Any = row["log"]
        return State(**numbers, log=tuple(map(int, log)), delivered=tuple(sorted(self.delivered)))

    def value(self, table: TableName, snapshot: int | None) -> int:
        rows = query(self.settings, f"SELECT n FROM {table} VERSION AS OF {snapshot}", None, self.spark).rows
        return int(str(rows[0]["n"]))

    def history(self, table: TableName) -> set[str]:
        """The runs on whose work the table as it is now was made; a whole rewrite has no parent, but the same past."""
        metadata = BranchView(self.catalog, MAIN).table(table)
        assert metadata is not None
        return {snapshot.summary.get("tidegate.run-id", "") for snapshot in metadata.snapshots.values()}

    def run(self, team: str) -> str:
        return run_project(load_settings(self.folder / team), RunOptions()).status


def in_parallel(lake: Lake, teams: tuple[str, ...], rounds: tuple[int, ...], processes: bool) -> Iterator[list[Ended]]:
    """What ended in each round; between two nobody works."""
    context = get_context("spawn")
    together: Any = (context if processes else threading).Barrier(len(teams) + 1)
    ended: Any = context.Queue() if processes else queue.Queue()
    start: Any = context.Process if processes else threading.Thread
    workers = [
        start(target=work, args=(lake.folder / team, team, rounds, together, ended), daemon=True) for team in teams
    ]
    for worker in workers:
        worker.start()
    try:
        for number, runs in enumerate(rounds, 1):
            lake.deliver(10**number)
            together.wait(SECONDS)
            together.wait(SECONDS)
            found: list[Ended] = []
            while sum(one.kind != "Conflict" for one in found) < runs * len(teams):
                found.append(ended.get(timeout=SECONDS))
            yield found
        for worker in workers:
            worker.join(SECONDS)
            assert not worker.is_alive()
    finally:
        together.abort()
        for worker in workers if processes else ():
            worker.kill()


def expect_a_whole_lake(lake: Lake, before: State, found: list[Ended]) -> None:
    """Nothing lost, and each table what its query gives over the inputs that it records."""
    after = lake.state()
    counting = [one for one in found if "a.counter" in one.published]
    assert after.counter == before.counter + len(counting)
    assert after.log == after.delivered, "each file is loaded, and once"
    teams = {one.run_id: one.team for one in found}
    view = BranchView(lake.catalog, MAIN)
    assert {one.run_id for one in counting} <= lake.history(TableName("shop", "a", "counter"))
    for name in ("x", "y", "z"):
        progress = view.progress(TableName("shop", "a", name))
        assert progress is not None
        if (formula := FROM_INPUTS.get((teams.get(progress.run_id, ""), name))) is not None:
            tables = {TableName.parse(table, ""): seen.snapshot_id for table, seen in progress.tables.items()}
            seen = {table.name: lake.value(table, snapshot) for table, snapshot in tables.items()}
            assert getattr(after, name) == formula(seen), f"{name} is not its query over what it records"
    assert lake.catalog.list_branches() == ()


def serial_outcomes(before: State, runs: Mapping[str, int]) -> set[State]:
    """What main can be after so many runs of each team, one after the other in whatever order."""
    states: dict[tuple[int, ...], set[State]] = {(0,) * len(runs): {before}}
    for done in product(*(range(times + 1) for times in runs.values())):
        for at, team in enumerate(runs):
            if done[at]:
                earlier = states[(*done[:at], done[at] - 1, *done[at + 1 :])]
                states.setdefault(done, set()).update(map(ALONE[team], earlier))
    return states[tuple(runs.values())]


def expect_rounds(
    lake: Lake, isolation: str, teams: tuple[str, ...], rounds: tuple[int, ...], processes: bool
) -> list[Ended]:
    everything = []
    before = lake.state()
    for runs, found in zip(rounds, in_parallel(lake, teams, rounds, processes), strict=True):
        everything += found
        assert {one.status for one in found if one.kind != "Conflict"} == {"success"}, found
        expect_a_whole_lake(lake, before, found)
        after = lake.state()
        if isolation == "serializable":
            possible = serial_outcomes(replace(before, delivered=after.delivered), dict.fromkeys(teams, runs))
            assert after in possible, f"{before} became {after}, which no order gives: {found}"
        before = after
    assert {lake.run("left"), lake.run("both")} == {"success"}
    assert lake.state() == both(left(before))
    return everything


@CATALOGS
def test_two_runs_at_once_end_as_if_one_had_come_after_the_other(
    place: Place, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE", place.address)
    lake = Lake(tmp_path / "teams", place, "serializable", spark)
    found = expect_rounds(lake, "serializable", ("left", "right"), (1,), processes=False)
    assert sum(one.conflicts for one in found) > 0


@CATALOGS
@pytest.mark.skipif(not PROVE, reason="minutes of four Sparks: only with TIDEGATE_PROVE")
@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_four_processes_at_once_lose_nothing(
    place: Place,
    tmp_path: Path,
    spark: SparkSession,
    isolation: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAKE", place.address)
    lake = Lake(tmp_path / "teams", place, isolation, spark)
    started = monotonic()
    found = expect_rounds(lake, isolation, tuple(TEAMS), ROUNDS, processes=True)
    conflicts = [one.conflicts for one in found]
    with capsys.disabled():
        print(
            f"\n{place.kind}, {isolation}: {len(ROUNDS)} rounds, {len(found)} runs, {sum(conflicts)} conflicts, at most"
            f" {max(conflicts)} in one run, {sum(one.kind == 'Conflict' for one in found)} runs lost, run again,"
            f" longest run {max(one.seconds for one in found):.1f} s, {monotonic() - started:.0f} s in all"
        )
    assert sum(conflicts) > 0
