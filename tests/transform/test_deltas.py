"""Whatever happened to a table since, the images of it are the rows that row lineage says they are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.changes import TableChange, change_since
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import TOUCHED, DeltaQuery, Image, ImageRead
from tidegate.transform.changed_rows import bind_images, touched_keys
from tidegate.transform.labelled_changes import labelled_changes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_NUMBERS = count()
_ROWS = "SELECT CAST(id AS int) AS id, CAST(id % 3 AS int) AS kind, concat('n', id) AS name FROM range(0, 20, 1, 2)"


@dataclass
class Lake:
    session: SparkSession
    view: BranchView
    made: dict[tuple[str, str], Pointer] = field(default_factory=dict)

    def make(self, query: str = _ROWS, clauses: str = "") -> Story:
        """A table of its own; where the same was made before, it begins with that one's files."""
        table = TableName("shop", "silver", f"t{next(_NUMBERS)}")
        if (query, clauses) not in self.made:
            first = TableName("shop", "silver", f"made{len(self.made)}")
            self.view.create_namespace(first)
            self.session.sql(f"CREATE TABLE {first.quoted} USING iceberg {clauses} AS {query}")
            self.made[query, clauses] = self.view.heads()[first]
        self.view.restore(table, self.made[query, clauses])
        return Story(self, table, self.metadata(table))

    def metadata(self, table: TableName) -> TableMetadata:
        metadata = self.view.table(table)
        assert metadata is not None
        return metadata


@dataclass
class Story:
    lake: Lake
    table: TableName
    then: TableMetadata

    def do(self, *statements: str) -> Story:
        [(catalog,)] = self.lake.session.sql("SELECT current_catalog()").collect()
        for statement in statements:
            name = f"shop.silver.{self.table.name}"
            self.lake.session.sql(statement.format(t=self.table.quoted, name=name, catalog=catalog))
        return self

    @property
    def change(self) -> TableChange:
        change = change_since(self.lake.metadata(self.table), self.then.table_input(used=["id"]))
        assert isinstance(change, TableChange)
        return change

    def images(self, columns: str = "id, kind, name") -> dict[Image, Counter[tuple[Any, ...]]]:
        """Every image, read in one job."""
        reads = {image: ImageRead(f"__{image.name}", self.table, image) for image in Image}
        with bind_images(self.lake.session, self.lake.view, tuple(reads.values()), {self.table: self.change}):
            selects = [f"SELECT '{image.name}', {columns} FROM {read.name}" for image, read in reads.items()]
            return self.apart(" UNION ALL ".join(selects))

    def apart(self, query: str) -> dict[Image, Counter[tuple[Any, ...]]]:
        """The rows of a query, told apart by the image that their first column names."""
        rows = [tuple(row) for row in self.lake.session.sql(query).collect()]
        return {image: Counter(row[1:] for row in rows if row[0] == image.name) for image in Image}

    def labelled(self) -> Counter[tuple[Any, ...]]:
        frame = labelled_changes(self.lake.session, self.lake.view, self.table, self.change)
        return Counter(map(tuple, frame.select("_change_type", "id", "kind", "name").collect()))

    def labelled_wanted(self) -> Counter[tuple[Any, ...]]:
        then, now, newer = self.by_row_id("id, kind, name")
        rows = [("update_postimage" if key in then else "insert", *now[key][1]) for key in newer]
        rows += [("update_preimage", *row) for key, row in then.items() if key in newer]
        rows += [("delete", *row) for key, row in then.items() if key not in now]
        return Counter(rows)

    def plan(self, image: Image) -> str:
        read = ImageRead("__image", self.table, image)
        with bind_images(self.lake.session, self.lake.view, (read,), {self.table: self.change}):
            text: str = self.lake.session.sql("EXPLAIN SELECT id FROM __image").collect()[0][0]
        return text

    def wanted(self, columns: str = "id, kind, name") -> dict[Image, Counter[tuple[Any, ...]]]:
        """By row lineage alone, with all rows on this side of the wire."""
        then, now, newer = self.by_row_id(columns)
        return {
            Image.AFTER: Counter(now[row_id][1] for row_id in newer),
            Image.BEFORE: Counter(row for row_id, row in then.items() if row_id in newer or row_id not in now),
            Image.THEN: Counter(then.values()),
        }

    def by_row_id(self, columns: str) -> tuple[dict[int, Any], dict[int, Any], set[int]]:
        """The rows of then, those of now with the number of their commit, and which of now are newer."""
        assert self.then.current is not None
        hidden = f"_row_id, _last_updated_sequence_number, {columns} FROM {self.table.quoted}"
        versions = f"SELECT true, {hidden} UNION ALL SELECT false, {hidden} VERSION AS OF {self.then.current.id}"
        rows = self.lake.session.sql(versions).collect()
        now = {row[1]: (row[2], tuple(row[3:])) for row in rows if row[0]}
        then = {row[1]: tuple(row[3:]) for row in rows if not row[0]}
        number = self.then.current.sequence_number
        return then, now, {row_id for row_id, (sequence, _) in now.items() if sequence > number}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    from tidegate.spark.session import child_session

    folder = tmp_path_factory.mktemp("lake with 100% odd #names")
    catalog = EmbeddedCatalog(folder / "catalog.db", folder / "warehouse")
    catalog.create_branch("run-1")
    session = child_session(spark, catalog.spark_conf("run-1"), catalog.spark_catalog("run-1"))
    session.conf.set("spark.sql.shuffle.partitions", "1")
    return Lake(session, BranchView(catalog, "run-1"))


_MERGE = (
    "MERGE INTO {t} t USING (SELECT CAST(id AS int) AS id, 'new' AS name FROM range(15, 25)) s ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET t.name = s.name"
    " WHEN NOT MATCHED THEN INSERT (id, kind, name) VALUES (s.id, 7, s.name)"
)
_COMPACT = "CALL `{catalog}`.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"

HISTORIES = {
    "rows inserted": ["INSERT INTO {t} VALUES (100, 1, 'x'), (101, NULL, NULL)"],
    "rows updated": ["UPDATE {t} SET name = 'u' WHERE id IN (3, 4, 15)"],
    "keys updated": ["UPDATE {t} SET id = id + 1000 WHERE kind = 1"],
    "rows deleted": ["DELETE FROM {t} WHERE id IN (1, 2, 19)"],
    "a whole file deleted": ["DELETE FROM {t} WHERE id < 10"],
    "everything deleted": ["DELETE FROM {t} WHERE true"],
    "everything updated": ["UPDATE {t} SET kind = kind + 1"],
    "merged": [_MERGE],
    "merged and deleted": [_MERGE, "DELETE FROM {t} WHERE id IN (5, 18)"],
    "the same rows updated twice": ["UPDATE {t} SET name = 'a' WHERE id < 5", "UPDATE {t} SET name = 'b' WHERE id < 3"],
    "new rows deleted again": ["INSERT INTO {t} VALUES (100, 1, 'x'), (101, 1, 'y')", "DELETE FROM {t} WHERE id = 100"],
    "updated, then compacted": [_MERGE, _COMPACT],
    "compacted, then updated": [_COMPACT, _MERGE],
    "compacted between deletes": ["DELETE FROM {t} WHERE id = 1", _COMPACT, "DELETE FROM {t} WHERE id = 2"],
    "overwritten": ["INSERT OVERWRITE {t} SELECT * FROM {t} WHERE id > 2"],
    "copied on write": [
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.update.mode' = 'copy-on-write')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')",
        "UPDATE {t} SET name = 'u' WHERE id IN (3, 4)",
        "DELETE FROM {t} WHERE id = 7",
    ],
    "a column added": ["ALTER TABLE {t} ADD COLUMN more int", "UPDATE {t} SET name = 'u', more = 1 WHERE id = 3"],
    "a column added after the update": [
        "UPDATE {t} SET name = 'u' WHERE id = 3",
        "ALTER TABLE {t} ADD COLUMN more int",
    ],
}


@pytest.mark.parametrize("statements", HISTORIES.values(), ids=HISTORIES)
def test_images_are_what_row_lineage_says(lake: Lake, statements: list[str]) -> None:
    story = lake.make().do(*statements)
    assert story.images() == story.wanted()
    assert story.labelled() == story.labelled_wanted()


VALUES = (
    "CAST(NULL AS int)",
    "'a''b'",
    "struct(id AS a, array(id) AS b)",
    "map('k', id)",
    "CAST(id AS decimal(20, 2))",
    "CAST('2024-02-03 04:05:06' AS timestamp_ntz)",
    "CAST(id AS decimal(4, 1))",
    "date'0001-01-01'",
    "CAST(NULL AS boolean)",
    "timestamp'1900-01-01 00:00:00'",
    "CAST('NaN' AS double)",
    "CAST('xyz' AS binary)",
)


def test_values_of_every_type_arrive(lake: Lake) -> None:
    columns = ", ".join(f"{value} AS c{number}" for number, value in enumerate(VALUES))
    story = lake.make(f"SELECT id, {columns} FROM (SELECT CAST(id AS int) AS id FROM range(6))")
    story.do("UPDATE {t} SET id = id + 10 WHERE id > 3")
    text = "id, " + ", ".join(f"to_json(struct(c{number}))" for number in range(len(VALUES)))
    images = story.images(text)
    assert images == story.wanted(text)
    assert {image: rows.total() for image, rows in images.items()} == {Image.AFTER: 2, Image.BEFORE: 2, Image.THEN: 6}


def test_partitioned_tables_and_odd_names_are_read_too(lake: Lake) -> None:
    query = "SELECT CAST(id AS int) AS id, concat('a b/', id % 2) AS `the kind`, 'x' AS `né`"
    story = lake.make(f"{query} FROM range(10)", "PARTITIONED BY (`the kind`)")
    story.do("UPDATE {t} SET `né` = 'y' WHERE id = 3", "DELETE FROM {t} WHERE id = 4")
    columns = "id, `the kind`, `né`"
    assert story.images(columns) == story.wanted(columns)
    plain = lake.make(clauses="PARTITIONED BY (kind)").do("UPDATE {t} SET kind = 5 WHERE id = 3")
    assert plain.images() == plain.wanted()
    assert "BatchScan" not in plain.plan(Image.AFTER)


def test_only_new_files_are_read_where_that_is_safe(lake: Lake) -> None:
    for statements in (["INSERT INTO {t} VALUES (1, 1, 'x')"], [_MERGE], [_MERGE, "DELETE FROM {t} WHERE id = 3"]):
        plan = lake.make().do(*statements).plan(Image.AFTER)
        assert "FileScan parquet" in plan
        assert "BatchScan" not in plan
    for statements in ([_COMPACT, _MERGE], [_MERGE, "ALTER TABLE {t} RENAME COLUMN name TO title"]):
        assert "FileScan parquet" not in lake.make().do(*statements).plan(Image.AFTER)


def test_only_the_columns_that_are_asked_for_are_read(lake: Lake) -> None:
    story = lake.make().do(_MERGE)
    for image in Image:
        plan = story.plan(image)
        assert re.search(r"\bid[#:]", plan)
        assert not re.search(r"\bname[#:]", plan), image


def test_views_are_gone_afterwards_also_when_something_breaks(lake: Lake) -> None:
    story = lake.make().do(_MERGE)
    reads = (ImageRead("__a", story.table, Image.AFTER), ImageRead("__b", story.table, Image.BEFORE))
    found: list[bool] = []

    def break_inside() -> None:
        with bind_images(lake.session, lake.view, reads, {story.table: story.change}):
            found.extend(lake.session.catalog.tableExists(read.name) for read in reads)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_inside()
    assert found == [True, True]
    assert not any(lake.session.catalog.tableExists(read.name) for read in reads)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT * FROM VALUES (1), (1), (2) AS t(k)", (2, False)),
        ("SELECT * FROM VALUES (1), (NULL), (NULL) AS t(k)", (2, True)),
        ("SELECT 1 AS k WHERE false", (0, False)),
    ],
)
def test_touched_keys_are_counted_once_each(lake: Lake, query: str, found: tuple[int, bool]) -> None:
    with touched_keys(lake.session, DeltaQuery(("k",), True, query, "")) as touched:
        assert (touched.rows, touched.nulls) == found
        assert (touched.keys.view, touched.keys.region) == (TOUCHED, ("k",))
        assert lake.session.table(TOUCHED).count() == found[0]
    assert not lake.session.catalog.tableExists(TOUCHED)


@pytest.mark.parametrize("image", [Image.AFTER, Image.BEFORE])
def test_keys_found_over_several_commits_are_found_once(lake: Lake, image: Image) -> None:
    """Positions of masked rows are another relation for Spark each time, if it is left to find them itself."""
    table = lake.make().do("UPDATE {t} SET name = 'a' WHERE id < 5").table
    story = Story(lake, table, lake.metadata(table))
    story.do("UPDATE {t} SET name = 'b' WHERE id IN (3, 7)", "UPDATE {t} SET name = 'c' WHERE id = 3")
    reads = (ImageRead("__image", table, image),)
    delta = DeltaQuery(("id",), True, "SELECT id FROM __image", "", reads)
    with (
        bind_images(lake.session, lake.view, delta.reads, {table: story.change}),
        touched_keys(lake.session, delta) as found,
    ):
        plan: str = lake.session.sql(f"EXPLAIN SELECT * FROM {found.keys.view}").collect()[0][0]
        assert (found.rows, "InMemoryTableScan" in plan) == (2, True), plan
