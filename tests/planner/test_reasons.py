"""Each file of tests/cases/reasons is a model, what became of the tables that it reads, and the decision in words.

The head says what there is to know besides: `deltas` (always, whatever they would cost), `ran` (no: never before;
other: as another definition), `ask` (--full-refresh), `last full` (milliseconds and rows of the last build from all
rows), `unique` (columns of bronze.orders), `wrote` (the model's own snapshot).
Lines `warning: …` of what is expected are parts of the decision's warnings; lines `changes: …` are the tables of which
the code of a Python model is given what changed, with how many rows at most, and `gained: …` those of an append.
A section named as a table tells its history, see `histories.py`; one named as a file is written into the project.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.compiler.projects import Built, build, table
from tests.planner.histories import History
from tidegate.lake import EmbeddedCatalog, Pointer, PointerKind
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import Progress
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.delta_rule import used_columns
from tidegate.planner.inputs import read_inputs, recorded_inputs
from tidegate.planner.make_plan import ModelPlan, PlanRequest, plan_model

CASES = Path(__file__).parents[1] / "cases" / "reasons"
MODEL = "silver.m"
COLUMNS = "SELECT 1 AS id, 1 AS customer, 'x' AS status, 1 AS amount\n"
TABLES = {"bronze.orders": "append +10\nread", "bronze.customers": "append +10\nread", MODEL: "append +10\nread"}
NOW = datetime(2026, 1, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Case:
    words: dict[str, str]
    files: dict[str, str]
    tables: dict[str, str]
    expected: list[str]


def read_case(path: Path) -> Case:
    head, *parts = re.split(r"^--- (.*)\n", path.read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    expected = sections.pop("expect").splitlines()
    words = dict(line.split(": ", 1) for line in head.splitlines() if not line.startswith("#"))
    files = {name: text for name, text in sections.items() if "/" in name}
    return Case(words, files, TABLES | {n: t for n, t in sections.items() if n not in files}, expected)


class Lake:
    """What main holds after the tables of a case lived through their histories."""

    def __init__(self, root: Path, case: Case, built: Built) -> None:
        self.root, self.case, self.built = root, case, built
        self.catalog = EmbeddedCatalog(root / "catalog.db", root / "warehouse")
        self.then: dict[TableName, TableMetadata] = {}

    def decide(self) -> ModelPlan:
        self.catalog.create_branch("run-1")
        tables = {table(name): lines for name, lines in self.case.tables.items()}
        now = {name: self._play(name, lines) for name, lines in tables.items() if name != table(MODEL)}
        self._put({name: Pointer(PointerKind.TABLE, then.location) for name, then in self.then.items()})
        self._put(self._views())
        if self.case.words.get("ran") != "no":
            history = History(self.root / MODEL, progress=self._progress())
            history.play(tables[table(MODEL)])
            now[table(MODEL)] = history.pointer()
        self._put(now)
        request = PlanRequest(NOW, "ask" in self.case.words, deltas="always" if "deltas" in self.case.words else "auto")
        compiled = self.built.compiled
        model = compiled.models[table(MODEL)]
        return plan_model(model, compiled, self.view, request, lambda: self.built.bind(MODEL))

    @property
    def view(self) -> BranchView:
        return BranchView(self.catalog, "run-1")

    def _play(self, name: TableName, lines: str) -> Pointer:
        version = 2 if lines.startswith("format 2\n") else 3
        unique = self.case.words.get("unique") if name.name == "orders" else None
        progress = Progress("r", "f", "full", "incremental", unique=tuple(unique.split(", "))) if unique else None
        history = History(self.root / str(name), version, progress.to_json() if progress else None)
        history.play(lines.removeprefix("format 2\n"))
        assert history.was_read
        self.then[name] = history.was_read
        return history.pointer()

    def _views(self) -> dict[TableName, Pointer]:
        found = {}
        for name, model in self.built.compiled.models.items():
            if model.model.settings.materialized == "view":
                path = self.root / f"{name}.metadata.json"
                representations = [{"type": "sql", "sql": model.model.source, "dialect": "spark"}]
                version = {"version-id": 1, "schema-id": 0, "representations": representations}
                schemas = [{"schema-id": 0, "fields": []}]
                view = {"view-uuid": "v", "location": "file:/v", "current-version-id": 1}
                path.write_text(json.dumps({**view, "schemas": schemas, "versions": [version]}))
                found[name] = Pointer(PointerKind.VIEW, f"file:{path}")
        return found

    def _put(self, pointers: dict[TableName, Pointer]) -> None:
        for name, pointer in pointers.items():
            self.catalog.create_namespace("run-1", name)
            self.catalog.restore("run-1", name, pointer)

    def _progress(self) -> str:
        """As the model's last run recorded it: the tables as they were then."""
        model = self.built.compiled.models[table(MODEL)]
        inputs = read_inputs(model, self.built.compiled, self.view, None)
        words = self.case.words
        used = used_columns(inputs, self.built.bind(MODEL)) if model.code is None else {}
        read = recorded_inputs(model, inputs, used)
        full_ms, full_rows = map(int, words.get("last full", "0 0").split())
        fingerprint = "other" if words.get("ran") == "other" else model.fingerprint
        settings = model.model.settings
        return Progress(
            run_id="run-0",
            fingerprint=fingerprint,
            run_type="full",
            strategy=settings.written_as,
            tables=read,
            snapshot_id=int(words.get("wrote", 1)),
            full_ms=full_ms,
            full_rows=full_rows,
        ).to_json()


@pytest.mark.parametrize("path", sorted(CASES.rglob("*.txt")), ids=lambda path: path.stem)
def test_decision_is_told_word_for_word(path: Path, tmp_path: Path) -> None:
    case = read_case(path)
    models = {f"models/bronze/{name}.sql": COLUMNS for name in ("orders", "customers")}
    built = build(tmp_path, {**models, **case.files})
    assert not built.compiled.errors, built.compiled.errors
    decision = Lake(tmp_path, case, built).decide().decision
    first, *more = case.expected
    warnings = [line for line in more if line.startswith("warning: ")]
    changes = [f"changes: {name.short('shop')} {change.rows}" for name, change in decision.row_changes.items()]
    gained = [f"gained: {name.removeprefix('shop.')}" for name in decision.inserted_since]
    if built.compiled.models[table(MODEL)].code is not None:
        assert [*changes, *gained] == [line for line in more if line not in warnings]
    assert f"{decision.run_type}: {decision.reason}" == first
    told = [line.removeprefix("warning: ") for line in warnings]
    assert all(any(text in warning for warning in decision.warnings) for text in told), decision.warnings
    assert decision.reason
    assert (decision.delta is not None) == bool(decision.changes)
