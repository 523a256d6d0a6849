"""`[lake] on_branch_failure`: what a run does whose branch cannot be made."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.projects import ProjectFolder, statuses
from tests.recorded import is_current
from tests.services.refusing import Refusal, refusing
from tidegate.errors import FailureKind, LakeError
from tidegate.lake.branch_catalog import MAIN
from tidegate.names import TableName
from tidegate.spark.session import child_session
from tidegate.state import open_reader

SPARK_TOO = pytest.mark.skipif(not os.environ.get("TIDEGATE_PROVE"), reason="only with TIDEGATE_PROVE")
GOOD, BAD, NEW = (TableName("shop", "silver", name) for name in ("good", "bad", "new"))


def prepare(shop: ProjectFolder, lake: str) -> None:
    """Two tables on main, and a second run that would change both, of which one is refused by its check."""
    shop.file("tidegate.toml", f'[project]\nname = "shop"\n\n[lake]\n{lake}\n')
    shop.model("silver.good", "SELECT 1 AS id")
    shop.model("silver.bad", "SELECT 1 AS id", audit="row_count(=, 1)")
    assert shop.run().status == "success"
    shop.builder.failing_checks = {"row_count(=, 1)": 2}
    shop.model("silver.good", "SELECT 2 AS id")
    shop.model("silver.bad", "SELECT id FROM (VALUES (2), (3)) AS t(id)", audit="row_count(=, 1)")
    shop.model("silver.new", "SELECT id FROM silver.bad", audit="row_count(=, 2)")


def assert_written_without_a_branch(shop: ProjectFolder) -> None:
    before = shop.catalog.head()
    result = shop.run()
    assert statuses(result) == {"silver.good": "completed", "silver.bad": "failed", "silver.new": "blocked"}
    assert (result.status, result.branch, result.publish.mode) == ("partial", MAIN, "model")
    assert result.publish.tables == ("silver.good",)
    (warning,) = [each for each in result.warnings if "NO ISOLATION" in each]
    assert "on_branch_failure" in warning
    after = shop.catalog.head()
    assert (after.keys(), after[BAD]) == (before.keys(), before[BAD])
    assert shop.branches() == []
    with open_reader(shop.settings.state.url) as reader:
        told = [event for event in reader.events(result.run_id) if "NO ISOLATION" in str(event.data)]
        assert [event.name for event in told] == ["warning"]


def refuse_branches(shop: ProjectFolder) -> None:
    with closing(sqlite3.connect(shop.root / ".tidegate/catalog.db")) as db, db:
        db.execute(
            "CREATE TRIGGER no_branches BEFORE INSERT ON tidegate_branches"
            " BEGIN SELECT RAISE(ABORT, 'branches are not for you'); END"
        )


@pytest.fixture
def refusal(nessie_lake: str) -> Iterator[Refusal]:
    port = int(nessie_lake.partition("/api")[0].rpartition(":")[2])
    with refusing(b"POST /api/v2/trees?", port) as refusal:
        refusal.on = False
        yield refusal


@pytest.mark.spark
def test_direct_writes_main_puts_back_what_fails_and_says_so(shop: ProjectFolder) -> None:
    prepare(shop, 'on_branch_failure = "direct"')
    refuse_branches(shop)
    assert_written_without_a_branch(shop)


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["pointer_shop", pytest.param("shop", marks=SPARK_TOO)])
def test_direct_works_on_nessie_too(
    request: pytest.FixtureRequest, kind: str, refusal: Refusal, nessie_lake: str, tmp_path: Path
) -> None:
    """Pointers tell the whole of it: the server needs a JVM, and Spark writes rows only in the long form."""
    shop: ProjectFolder = request.getfixturevalue(kind)
    uri, ref = f"http://127.0.0.1:{refusal.port}/api/v2", nessie_lake.split(" ")[1]
    prepare(
        shop,
        f'catalog = "nessie"\nuri = "{uri}"\nref = "{ref}"\nwarehouse = "{tmp_path}/w"\non_branch_failure = "direct"',
    )
    refusal.on = True
    assert_written_without_a_branch(shop)
    assert refusal.met == 1
    refusal.on = False
    shop.builder.failing_checks.clear()
    shop.model("silver.bad", "SELECT 7 AS id", audit="row_count(=, 1)")
    shop.model("silver.new", "SELECT id FROM silver.bad")
    healed = shop.run()
    assert (healed.status, healed.branch, healed.warnings) == ("success", healed.run_id, ())
    assert is_current(shop, "silver.new")
    if shop.spark is not None:
        assert shop.rows("silver.new") == [(7,)]


@pytest.mark.spark
def test_rows_that_a_killed_run_wrote_to_main_itself_are_not_there_twice(shop: ProjectFolder) -> None:
    """It came as far as the write, and not to telling the table of what it was made."""
    shop.model("bronze.log", "SELECT * FROM {{ landing_zone('log') }}", merge_strategy="append_only")
    shop.file("landing/log/1.csv", "id\n1\n")
    assert shop.run().status == "success"
    shop.file("landing/log/2.csv", "id\n2\n")
    marks = {"tidegate.run-id": "run-killed", "tidegate.model": "shop.bronze.log"}
    conf = {f"spark.sql.iceberg.snapshot-property.{name}": value for name, value in marks.items()}
    session = child_session(shop.spark, {**shop.catalog.spark_conf(MAIN), **conf}, MAIN)
    session.sql("INSERT INTO shop.bronze.log SELECT id + 1 FROM shop.bronze.log")
    result = shop.run()
    assert (result.status, shop.rows("bronze.log")) == ("success", [(1,), (2,)])
    assert [warning for warning in result.warnings if "before it was killed are removed" in warning]


@pytest.mark.parametrize(
    ("setting", "keep", "told"),
    [
        ("fail", False, "cannot be used: branches are not for you"),
        ("direct", True, "branches are not for you.*--no-publish is there to keep one; nothing was run"),
    ],
)
def test_otherwise_the_run_fails_and_main_is_as_it_was(
    pointer_shop: ProjectFolder, setting: str, keep: bool, told: str
) -> None:
    """By default, and where `--no-publish` wants a branch to keep."""
    shop = pointer_shop
    shop.file("tidegate.toml", f'[project]\nname = "shop"\n\n[lake]\non_branch_failure = "{setting}"\n')
    shop.model("silver.good", "SELECT 1 AS id")
    shop.catalog.head()
    refuse_branches(shop)
    with pytest.raises(LakeError, match=told) as caught:
        shop.run(no_publish=keep)
    assert caught.value.kind is FailureKind.CONNECTION_FAILED
    assert shop.catalog.head() == {}
