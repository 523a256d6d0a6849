"""The projects that compiling is measured on: the same everywhere, of the promised make-up, and without mistakes."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from pathlib import Path

from benchmarks.compile_project import changed_model, generate, model_file, with_new_precision, write_projects

from tests.compiler.projects import build


def test_the_models_are_the_same_on_every_machine() -> None:
    text = "\n".join(f"{table.layer}.{table.name}\n{table.sql}" for table in generate(200))
    assert sha256(text.encode()).hexdigest()[:16] == "8cc67e8f81a4fbad"


def test_each_kind_of_model_has_its_share() -> None:
    layers = Counter(table.layer for table in generate(1_000))
    assert layers == {"bronze": 300, "staging": 300, "silver": 250, "gold": 150}


def test_sources_have_7_to_15_typed_columns() -> None:
    widths = {table.sql.count("  CAST(") for table in generate(1_000) if table.layer == "bronze"}
    assert widths == set(range(7, 16))


def test_both_sides_get_the_same_sql_but_for_how_names_are_written(tmp_path: Path) -> None:
    write_projects(tmp_path, 100)
    ours, theirs = (
        {path.name: path.read_text() for path in (tmp_path / side / "models").rglob("*.sql")}
        for side in ("tidegate", "dbt")
    )
    assert len(ours) == 100
    assert {name: re.sub(r"ref\('\w+\.", "ref('", text) for name, text in ours.items()} == theirs


def test_a_generated_project_gives_no_diagnostics(tmp_path: Path) -> None:
    write_projects(tmp_path, 100)
    compiled = build(tmp_path / "tidegate", {}).compiled
    assert compiled.diagnostics == ()
    assert len(compiled.models) == 100
    assert len(compiled.waves) > 4


def test_the_changed_model_is_read_by_others_and_changes_at_every_step() -> None:
    changed = changed_model(1_000)
    readers = [table for table in generate(1_000) if changed.reference in table.sql]
    assert readers
    assert model_file(changed) == f"models/staging/{changed.name}.sql"
    assert len({with_new_precision(changed.sql, step) for step in range(4)}) == 4
