"""Which models of a project are updated from changes, in the JVM that there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.compiler.projects import build, table
from tests.planner.histories import History
from tidegate.compiler.compiled import Compiled
from tidegate.lake import EmbeddedCatalog
from tidegate.lake.progress import Progress
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.cost_rule import WARM, JvmState, ReaderTimes, saved_below, worth_it
from tidegate.planner.intervals import parse_time
from tidegate.planner.make_plan import PlanRequest, make_plan

CASES = Path(__file__).parents[1] / "cases" / "costs" / "projects.txt"
COLUMNS = "SELECT 1 AS id, 1 AS customer, 'x' AS status, 1 AS amount\n"
NOW = parse_time("2024-06-01T12:00:00")


@dataclass
class Case:
    title: str
    jvm: JvmState = WARM
    sources: dict[str, str] = field(default_factory=dict)
    models: dict[str, tuple[dict[str, str], str]] = field(default_factory=dict)
    expected: str = ""


def read_cases() -> Iterator[Case]:
    for text in CASES.read_text().split("\n--- ")[1:]:
        title, *lines = text.strip().splitlines()
        case = Case(title)
        for line in lines:
            first, _, rest = line.partition(" ")
            if first == "=>":
                case.expected = rest
            elif first == "jvm":
                case.jvm = JvmState(*map(int, rest.split()))
            elif first.startswith("bronze."):
                case.sources[first] = rest
            else:
                words, query = re.split(r"(?=SELECT)", rest, maxsplit=1)
                case.models[first] = (dict(word.split("=") for word in words.split()), query)
        yield case


@pytest.mark.parametrize("case", list(read_cases()), ids=lambda case: case.title)
def test_the_cheaper_way_is_chosen_for_the_project(case: Case, tmp_path: Path) -> None:
    files = {f"models/{name.replace('.', '/')}.sql": COLUMNS for name in case.sources}
    for name, (words, query) in case.models.items():
        header = f"-- @unique_key: {words['key']}\n" if "key" in words else ""
        files[f"models/{name.replace('.', '/')}.sql"] = f"{header}{query}\n"
    built = build(tmp_path, files)
    assert not built.compiled.errors, built.compiled.errors
    catalog = EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "warehouse")
    catalog.create_branch("run-1")
    put_tables(case, built.compiled, catalog, tmp_path)
    selected = [table(name) for name in case.models]
    request = PlanRequest(NOW, jvm=case.jvm)
    plan = make_plan(
        built.compiled, selected, BranchView(catalog, "run-1"), request, lambda name: built.bind(str(name))
    )
    ends = {step.table.short("shop"): str(step.run_type or "perhaps") for step in plan.steps}
    assert ", ".join(f"{name} {ends[name]}" for name in case.models) == case.expected, [
        (step.table, step.decision.reason) for step in plan.steps
    ]


def put_tables(case: Case, compiled: Compiled, catalog: EmbeddedCatalog, folder: Path) -> None:
    def put(name: str, history: History) -> None:
        catalog.create_namespace("run-1", table(name))
        catalog.restore("run-1", table(name), history.pointer())

    read = {}
    for name, lines in case.sources.items():
        progress = Progress("r", "f", "full", "incremental", unique=("id",))
        history = History(folder / name, progress=progress.to_json())
        history.play(lines.replace("; ", "\n"))
        assert history.was_read
        put(name, history)
        read[table(name)] = history.was_read.table_input()
    for name, (words, _) in case.models.items():
        model = compiled.models[table(name)]
        delta = round(1000 * float(words.get("delta", 0)))
        full, rows = round(1000 * float(words["full"])), int(words["rows"])
        progress = Progress(
            "run-0",
            model.fingerprint,
            "full",
            model.model.settings.written_as,
            tables={str(upstream): read[upstream] for upstream in model.depends_on},
            snapshot_id=1,
            full_ms=full,
            full_rows=rows,
            duration_ms=delta or full,
            deltas=1 if delta else 0,
        )
        history = History(folder / name, progress=progress.to_json())
        read[table(name)] = history.play(f"append +{rows}").table_input()
        put(name, history)


A, B, C = (TableName("shop", "silver", name) for name in "abc")


def test_a_reader_that_two_tables_lead_to_counts_once() -> None:
    readers = {A: [ReaderTimes(B, 5, 1), ReaderTimes(C, 4, 1)], B: [ReaderTimes(C, 4, 1)], C: [ReaderTimes(A, 9, 1)]}
    assert saved_below(A, readers.__getitem__) == 4 + 3


def test_in_a_warm_jvm_everything_that_saves_time_is_worth_it() -> None:
    assert worth_it({A: 0.1, B: 3.0}, WARM) == {A, B}
    assert worth_it({A: 0.1, B: 3.0}, JvmState()) == set()
    assert worth_it({A: 0.1, B: 9.0}, JvmState()) == {B}
    assert worth_it({A: 0.1, B: 0.7}, JvmState(builds=30, deltas=2)) == {B}
