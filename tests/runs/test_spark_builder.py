"""What Spark's builder records of a table: the life of a run relies on it, and its own tests move pointers only."""

from __future__ import annotations

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.lake import view
from tidegate.lake.metadata import local_path
from tidegate.names import TableName

pytestmark = pytest.mark.spark

ONE = TableName("shop", "a", "one")


def test_what_is_checked_weighed_and_lost_is_recorded_as_it_is(shop: ProjectFolder) -> None:
    toml = shop.root / "tidegate.toml"
    toml.write_text(f'{toml.read_text()}\n[run]\nisolation = "serializable"\n[run.budget]\nmax_bytes = 1\n')
    numbers = "SELECT CAST(id AS INT) AS x FROM range(3)"
    shop.model("a.base", numbers)
    shop.model("a.one", numbers, constraint="references(x, a.base, x)", audit="row_count(>, 1)")
    assert shop.run().exit_code == 0

    built = shop.main.table(ONE)
    assert built is not None
    assert built.progress is not None
    assert set(built.progress.checked) == {"shop.a.base"}  # read by a check alone
    weights = [event.data["value"] for event in shop.events if event.name == "budget_breach"]
    written = sum(m.total_bytes for t in shop.main.heads() if (m := shop.main.table(t)) is not None)
    assert 1 < weights[0] <= written

    # Another audit: it is answered, and the table records that; its rows and its snapshot stay.
    shop.model("a.one", numbers, constraint="references(x, a.base, x)", audit="row_count(>, 2)")
    result = shop.run()
    assert (result.exit_code, statuses(result)["a.one"]) == (0, "skipped")
    again = shop.main.table(ONE)
    assert again is not None
    assert again.progress is not None
    assert again.progress.checks != built.progress.checks
    assert (again.current_snapshot_id, again.progress.run_id) == (built.current_snapshot_id, built.progress.run_id)

    # A lost metadata file: the table is rebuilt from its inputs when that is asked for.
    local_path(again.location).unlink()
    view._read.cache_clear()  # as in a process that did not read the file before
    result = shop.run("a.one", full_refresh=True)
    assert (statuses(result), result.materializations[0].error) == ({"a.one": "completed"}, None)
    assert shop.rows("a.one") == [(0,), (1,), (2,)]
