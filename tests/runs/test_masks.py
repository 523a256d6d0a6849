"""Masks when tables are written: their values, the same table however it is built, and nothing in clear elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tidegate.cli.main import run_cli
from tidegate.compiler import compile_from_disk
from tidegate.config import Secret
from tidegate.errors import QueryError
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.operations.diff.run_diff import diff
from tidegate.project.column_masks import ColumnMask
from tidegate.project.model import ModelSettings
from tidegate.quality.check_answers import redact_message
from tidegate.results import ModelResult
from tidegate.runs import RunResult
from tidegate.runs.build.result_frame import masked_frame
from tidegate.runs.build.verify import verify
from tidegate.spark.session import child_session
from tidegate.write import WriteRequest, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CASES = Path(__file__).parents[1] / "cases" / "masks" / "values.txt"
INITIALS = "upper(left({column}, 2))"


def test_masks_give_these_values(spark: SparkSession) -> None:
    lines = [line.split("|") for line in CASES.read_text().splitlines() if not line.startswith("#")]
    cases = [(mask.strip(), value.strip(), expected.strip()) for mask, value, expected in lines]
    frame = spark.sql(f"SELECT {', '.join(f'{value} AS `c {n}`' for n, (_, value, _) in enumerate(cases))}")
    masks = [ColumnMask(f"C {n}", m, INITIALS if m == "initials" else None) for n, (m, _, _) in enumerate(cases)]
    found = masked_frame(frame, masks, "m.sql")
    assert found.columns == frame.columns
    row = found.first()
    assert row is not None
    for (mask, value, expected), got, field in zip(cases, row, found.schema.fields, strict=True):
        text, _, kind = (expected, "", "string") if expected[:4] != "NULL" else expected.partition(" ")
        shown = ("NULL" if got is None else got, field.dataType.simpleString())
        assert shown == (text, kind or "string"), f"{mask} of {value}"


def test_a_salt_changes_every_hash(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 'anna' AS a, 'anna' AS b, CAST(NULL AS STRING) AS c")
    salted = [ColumnMask(name, "hash_pii", salt=Secret("it's \\ salt")) for name in "ac"]
    row = masked_frame(frame, [*salted, ColumnMask("b", "hash_pii")], "m.sql").first()
    assert row is not None
    assert row["a"] != row["b"]
    assert row["c"] is None


def test_a_column_that_is_not_there_is_an_error_if_the_model_names_it(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 1 AS a")
    assert masked_frame(frame, [ColumnMask("b", "redact", required=False)], "m.sql").columns == ["a"]
    with pytest.raises(QueryError, match="no column 'b'"):
        masked_frame(frame, [ColumnMask("b", "redact")], "m.sql")


TAGS = {"column": "email: [mask_email]\n-- @column: note: [pii]\n-- @column: day: [redact]"}
QUERY = "SELECT id, email, note, day FROM src.people"
MASKED = [(i, "a***@clear.example", None) for i in (0, 2, 3, 4, 5, 9)]
CHANGES = (
    "DELETE FROM shop.src.people WHERE id = 1",
    "INSERT INTO shop.src.people VALUES (9, 'anna9@clear.example', 'born in clear', NULL)",
    "UPDATE shop.src.clients SET email = 'new@clear.example', note = 'new, in clear' WHERE id = 1",
)
WAYS = ("whole", "region", "merged", "changes", "replaced", "grouped")


@dataclass
class Story:
    """Two runs, between which another program changes the sources and the project its masks."""

    shop: ProjectFolder
    first: RunResult
    second: RunResult
    clear: list[tuple[Any, ...]]
    """Rows of a table that had no mask in the first run."""

    def of(self, result: RunResult, name: str) -> ModelResult:
        return next(m for m in result.materializations if m.model == name)


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder, spark: SparkSession) -> Story:
    shop, catalog = module_shop, module_shop.catalog
    session = child_session(spark, catalog.spark_conf("main"), catalog.spark_catalog("main"))
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.sql("CREATE NAMESPACE shop.src")
    for name in ("people", "clients"):
        session.sql(
            f"CREATE TABLE shop.src.{name} AS SELECT id, concat('anna', id, '@clear.example') AS email,"
            " 'born in clear' AS note, date'2000-01-01' AS day FROM range(6)"
        )
    write_models(shop)
    first = shop.run()
    clear = shop.rows("silver.tagged_later")
    for statement in CHANGES:
        session.sql(statement)
    shop.model("silver.tagged_later", QUERY, column="email: [redact]")
    shop.model("silver.renamed", "SELECT id, email AS contact FROM src.people", column="contact: [pii]")
    return Story(shop, first, shop.run(verify=True), clear)


def write_models(shop: ProjectFolder) -> None:
    key = {"unique_key": "id", **TAGS}
    shop.model("silver.whole", QUERY, **key, deltas="never")
    shop.model("silver.region", QUERY, **key, deltas="always")
    shop.model("silver.merged", QUERY, merge_strategy="incremental", **key, deltas="never")
    shop.model("silver.changes", QUERY, merge_strategy="incremental", **key, deltas="always")
    shop.model("silver.replaced", QUERY, merge_strategy="delete_insert", **key)
    shop.model("silver.grouped", QUERY, merge_strategy="tracked", group_key="id", **TAGS)
    shop.model("silver.versions", QUERY, merge_strategy="scd2", **key)
    shop.model("silver.tagged_later", QUERY)
    counts = "SELECT email, count(*) AS n FROM src.people GROUP BY email"
    shop.model("gold.counts", counts, column="email: [mask_email]", deltas="always")
    tags = {"column": "email: [pii]\n-- @column: note: [mask_email]", "constraint": "length_eq(email, 99) warn"}
    shop.model("silver.clients", "SELECT id, email, note FROM src.clients", **tags)
    shop.model("gold.copied", "SELECT id, email AS contact FROM silver.clients")
    shop.file("models/gold/copied/tests/quality/named.sql", "-- @severity: warn\nSELECT contact AS c FROM gold.copied")
    repeated = "SELECT 'x@clear.example' AS email, id FROM src.people"
    shop.model("silver.repeated", repeated, merge_strategy="incremental", unique_key="email", column="email: [pii]")
    shop.model("silver.renamed", "SELECT id, email, note AS gone FROM src.people", column="email: [pii]")
    shop.model("gold.broken", "SELECT CAST(email AS INT) AS n FROM silver.clients")
    shop.file("landing/pay/1.csv", 'id,email,amount\n1,a@b.c,"12,50"\n')
    paid = {"column": "email: [pii]", "constraint": "compare(amount, <=, 900)"}
    shop.model("bronze.pay", "SELECT * FROM {{ landing_zone('pay') }}", **paid)


def test_every_way_to_build_gives_the_same_masked_table(story: Story) -> None:
    failed = {name for name, status in statuses(story.second).items() if status not in ("completed", "skipped")}
    assert failed == {"silver.repeated", "gold.broken", "bronze.pay"}
    assert not [text for text in story.second.warnings if any(f"silver.{name}" in text for name in WAYS)]
    assert run_types(story.second)["silver.region"] == "incremental"
    assert run_types(story.second)["silver.changes"] == "incremental"
    queries = [f"SELECT id, email, day FROM silver.{name}" for name in WAYS]
    queries.append("SELECT id, email, day FROM silver.versions WHERE is_current")
    assert story.shop.rows_of(*queries) == dict.fromkeys(queries, MASKED)


def test_a_changed_mask_writes_the_table_anew(story: Story) -> None:
    assert "clear" in str(story.clear)
    assert story.of(story.second, "silver.tagged_later").reason.startswith("definition changed")
    assert story.shop.rows("SELECT DISTINCT email FROM silver.tagged_later") == [("[redacted]",)]


def test_rows_are_not_found_by_a_masked_column(story: Story) -> None:
    made = story.of(story.second, "gold.counts")
    assert made.run_type == "full"
    assert "email is masked" in made.reason
    assert story.shop.rows("gold.counts") == [("a***@clear.example", 1)] * 6


def test_no_value_is_told_that_is_hidden(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    shop = story.shop
    told = [str(result.to_dict()) for result in (story.first, story.second)]
    told += [str(event) for event in shop.events]
    assert {statuses(story.second)[name] for name in ("silver.clients", "gold.copied")} == {"completed"}
    samples = [sample for result in story.first.check_results for sample in result.samples]
    assert {"c": "***"} in samples
    assert {"email": "***"} in samples
    found = diff(shop.settings, story.second.run_id, ("silver.clients", "gold.copied"), root=shop.spark)
    assert all(table.samples for table in found.tables)
    told.append(str(found.document()))
    for model, form in (("silver.clients", []), ("gold.copied", ["--json"])):
        assert run_cli(["preview", model, "--project", str(shop.root), *form]) == 0
        told.append(capsys.readouterr().out)
        assert "***" in told[-1]
    told += [file.read_bytes().decode(errors="replace") for file in (shop.root / ".tidegate").glob("state.db*")]
    for text in told:
        assert "clear" not in text


def test_a_key_that_is_personal_is_not_told_when_it_repeats(story: Story) -> None:
    error = story.of(story.first, "silver.repeated").error
    assert error is not None
    assert "email=*** (6 rows)" in error
    assert "clear" not in error


def test_what_changed_is_not_told_of_a_column_that_has_another_name_now(story: Story) -> None:
    found = diff(story.shop.settings, story.second.run_id, ("silver.renamed",), root=story.shop.spark)
    assert found.tables[0].samples
    assert "clear" not in str(found.document())


def test_spark_quotes_no_value_of_a_model_with_hidden_columns(story: Story) -> None:
    error = story.of(story.first, "gold.broken").error
    assert error is not None
    assert "The value *** of the type" in error
    assert not any("clear" in str(event) for event in story.shop.events)


def test_a_check_that_the_columns_do_not_fit_names_them_whatever_is_hidden(story: Story) -> None:
    (check,) = [check for check in story.first.check_results if check.model == "bronze.pay"]
    assert check.status == "error"
    assert (check.error or "").startswith("column 'amount' is string, and the check compares it with a number")


def test_a_preview_below_a_model_with_errors_shows_no_value(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    shop = story.shop
    path = shop.root / "models/silver/clients.sql"
    text = path.read_text()
    try:
        path.write_text(text.replace("SELECT id, email, note", "SELECT nothing"))
        assert compile_from_disk(shop.settings, shop.catalog.head(), {})[0].errors
        for name in ("silver.clients", "gold.copied"):
            assert run_cli(["preview", name, "--project", str(shop.root), "--json"]) == 0
            (row, *_) = json.loads(capsys.readouterr().out)["rows"]
            assert set(row.values()) == {"***"}
    finally:
        path.write_text(text)


def test_a_verification_that_fails_shows_no_hidden_value(
    on_branch: Callable[[str], SparkSession], catalog: EmbeddedCatalog
) -> None:
    session = on_branch("run-1")

    def request(query: str) -> WriteRequest:
        return WriteRequest(
            session,
            BranchView(catalog, "run-1"),
            TableName("shop", "silver", "t"),
            session.sql(query),
            ModelSettings(),
            run_started_at=datetime(2024, 1, 1, tzinfo=UTC),
            complete=True,
            rebuild=True,
            hidden=frozenset({"s"}),
        )

    write(request("SELECT 1 AS id, 'clear' AS S"))
    found = verify(request("SELECT 1 AS id, 'clear, too' AS S"))
    assert found.table_samples == found.full_samples == ({"id": 1, "S": "***"},)
    assert "clear" not in found.message


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("The value 'a b' of the type \"STRING\" cannot be cast", 'The value *** of the type "STRING" cannot be cast'),
        ('The value 300 of the type "INT" cannot', 'The value *** of the type "INT" cannot'),
        ("The 12.5 cannot be represented as Decimal(3, 2)", "The *** cannot be represented as Decimal(3, 2)"),
        ("Text 'it\\'s' could not be parsed", "Text *** could not be parsed"),
        ("column `email` is not there", "column `email` is not there"),
    ],
)
def test_values_are_taken_out_of_messages(message: str, shown: str) -> None:
    assert redact_message(message) == shown
