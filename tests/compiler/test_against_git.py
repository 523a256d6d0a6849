from __future__ import annotations

from pathlib import Path

from tests.compiler.projects import build
from tests.project.test_git_ref import commit, git
from tidegate.compiler import compile_project
from tidegate.compiler.changes.interface_changes import change_diagnostics, compare
from tidegate.compiler.changes.interfaces import interfaces
from tidegate.compiler.compiled import Span
from tidegate.project import load_project
from tidegate.project.git_ref import at_git_ref, settings_of_past

FILES = {
    ".gitignore": "landing/\n",
    "landing/orders/day.csv": "id\n1\n",
    "models/bronze/orders.sql": "select * from {{ landing_zone('orders') }}",
    "models/silver/orders.sql": "-- @kind: merge\n-- @unique_key: id\nselect * from bronze.orders",
    "models/silver/order_lines.sql": "select 1 as id",
}


def test_the_working_tree_is_compared_with_a_commit_whose_landing_files_are_in_no_repository(tmp_path: Path) -> None:
    build(tmp_path, FILES)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "one")
    (tmp_path / "models/silver/order_lines.sql").rename(tmp_path / "models/silver/order_line.sql")
    (tmp_path / "models/silver/orders.sql").write_text("-- @kind: append\nselect * from bronze.orders")
    now = build(tmp_path, {})
    with at_git_ref(tmp_path, "one") as folder:
        settings = settings_of_past(folder, now.settings)
        before = compile_project(load_project(settings), settings, (), {})
    assert (before.errors, now.compiled.errors) == ((), ())
    changes = compare(interfaces(before), interfaces(now.compiled))
    found = {d.model: d for d in change_diagnostics(changes, now.compiled)}
    assert {model: str(d.code) for model, d in found.items()} == {
        "silver.order_line": "SafeChange",
        "silver.order_lines": "BreakingChange",
        "silver.orders": "BreakingChange",
    }
    assert found["silver.order_lines"].suggestion == "did you rename it to silver.order_line?"
    assert found["silver.orders"].span == Span("models/silver/orders.sql", 1, 4)
