"""Records of landing files that cannot be read: with `bad_records = "quarantine"` they go beside the table, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tidegate.lake.metadata import TableMetadata, arrival_order
from tidegate.names import TableName
from tidegate.results import ModelResult
from tidegate.runs.result import RunResult

pytestmark = pytest.mark.spark

BAD = "_source_file, _line, _text, _reasons, _run_id"
TWO_FIELDS = "has 2 fields where 3 are expected"
BROKEN = "has broken quotes: ',' expected after '\"'"


ZONE = "SELECT * FROM {{{{ landing_zone('{}') }}}}".format
ORDERS = 'id,name,day\n1,x,2024-01-01\n2,y\n3,"z" z,2024-01-03\n4,"w" ,2024-01-04\n'
APPEND = {"kind": "append"}


@dataclass
class Story:
    """Runs of one project: some of its models read one zone, others have zones of their own."""

    shop: ProjectFolder
    results: list[RunResult] = field(default_factory=list)
    bad: list[list[tuple[Any, ...]]] = field(default_factory=list)
    """The quarantine of bronze.orders after each run."""

    held_back: dict[str, TableMetadata | None] = field(default_factory=dict)
    """What main has after the first run of the model whose gate was closed then."""

    def of(self, number: int, name: str = "bronze.orders") -> ModelResult:
        return next(m for m in self.results[number].materializations if m.model == name)

    def counts(self, number: int, name: str = "bronze.orders") -> tuple[int | None, int | None]:
        return self.of(number, name).rows_written, self.of(number, name).rows_quarantined


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder) -> Story:
    shop, story = module_shop, Story(module_shop)
    settings = (shop.root / "tidegate.toml").read_text()
    zones = "".join(f'\n[landing.{zone}]\nbad_records = "quarantine"\n' for zone in ("orders", "lookups", "mixed"))
    shop.file("tidegate.toml", settings + zones)
    for zone in ("orders", "lookups", "mixed"):
        shop.file(f"landing/{zone}/a.csv", ORDERS)
    shop.file("landing/names/a.csv", "id,more\n1,one\n")
    shop.file("landing/mixed/b.csv", "id,name,day\n0,v,2024-01-05\n")
    shop.file("landing/mixed/c.jsonl", '{"id": 9}\nnonsense\n{"id": 8}\n')
    write_models(shop)

    def run(*select: str, **options: bool) -> None:
        story.results.append(shop.run(*select, **options))
        story.bad.append(shop.rows(f"SELECT {BAD} FROM bronze.orders__quarantine"))

    run()
    for name in ("gated", "gated__quarantine"):
        story.held_back[name] = shop.main.table(TableName("shop", "bronze", name))
    shop.file("landing/orders/b.csv", "id,name,day\n5,v,2024-01-05\n6,u\n")
    shop.file("landing/names/b.csv", "id,more\n4,four\n")
    run("bronze.orders", "bronze.gated", "bronze.looked_up")
    run("bronze.orders")
    run("bronze.orders", full_refresh=True, confirmed=True)
    return story


def write_models(shop: ProjectFolder) -> None:
    shop.model("bronze.orders", ZONE("orders"), **APPEND)
    shop.model("bronze.gated", ZONE("orders"), **APPEND, audit="row_count(>, 2)")
    header = {**APPEND, "quarantine": "true", "constraint": "compare(id, <, 4)"}
    shop.model("bronze.constrained", ZONE("orders"), **header)
    query = (
        "SELECT n.id, more, day FROM {{ landing_zone('names') }} n LEFT JOIN {{ landing_zone('lookups') }} o USING (id)"
    )
    shop.model("bronze.looked_up", query, **APPEND)
    shop.model("bronze.masked", ZONE("orders"), **APPEND, column="name: [hash_pii]")
    shop.model("bronze.mixed", ZONE("mixed"), **APPEND)


def test_bad_records_go_to_the_quarantine_once_and_the_rest_is_loaded(story: Story) -> None:
    first, second, third, _ = story.results
    failed = {name for name, status in statuses(first).items() if status != "completed"}
    assert failed == {"bronze.gated"}
    assert story.counts(0) == (2, 2)
    told = "2 records of landing files cannot be read and went to bronze.orders__quarantine: "
    assert any(f"{told}orders/a.csv:3 {TWO_FIELDS}; orders/a.csv:4 {BROKEN}" in line for line in first.warnings)
    expected = [
        ("orders/a.csv", 3, "2,y", [TWO_FIELDS], first.run_id),
        ("orders/a.csv", 4, '3,"z" z,2024-01-03', [BROKEN], first.run_id),
    ]
    assert story.bad[0] == expected
    assert story.counts(1) == (1, 1)
    assert story.bad[1] == [*expected, ("orders/b.csv", 3, "6,u", [TWO_FIELDS], second.run_id)]
    assert run_types(third) == {"bronze.orders": "skip"}
    assert story.counts(3) == (3, 3)
    assert [row[:3] for row in story.bad[3]] == [*(row[:3] for row in expected), ("orders/b.csv", 3, "6,u")]
    assert [row[0] for row in story.shop.rows("SELECT id FROM bronze.orders")] == [1, 4, 5]


def test_a_closed_gate_holds_back_both_tables_and_the_files_come_again(story: Story) -> None:
    assert story.of(0, "bronze.gated").status == "failed"
    assert story.held_back == {"gated": None, "gated__quarantine": None}
    assert story.of(1, "bronze.gated").status == "completed"
    found = story.shop.rows_of("bronze.gated", "bronze.gated__quarantine")
    assert [len(rows) for rows in found.values()] == [3, 3]


def test_rows_that_break_constraints_and_bad_records_stand_in_one_table(story: Story) -> None:
    assert story.counts(0, "bronze.constrained") == (1, 3)
    rows = story.shop.rows("SELECT id, _columns, _source_file FROM bronze.constrained__quarantine")
    assert rows == [(4, ["id"], None), (None, [], "orders/a.csv"), (None, [], "orders/a.csv")]


def test_a_zone_that_is_only_looked_up_adds_each_bad_record_once(story: Story) -> None:
    assert [story.counts(number, "bronze.looked_up") for number in (0, 1)] == [(1, 2), (1, 0)]
    found = story.shop.rows_of("bronze.looked_up", "bronze.looked_up__quarantine")
    assert [len(rows) for rows in found.values()] == [2, 2]


def test_the_text_of_a_bad_record_is_not_kept_where_columns_are_masked(story: Story) -> None:
    rows = story.shop.rows("SELECT _source_file, _line, _text FROM bronze.masked__quarantine")
    assert rows == [("orders/a.csv", 3, None), ("orders/a.csv", 4, None)]


def test_good_records_keep_their_order_of_arrival(story: Story) -> None:
    assert story.of(0, "bronze.mixed").rows_quarantined == 3
    metadata = story.shop.main.table(TableName("shop", "bronze", "mixed"))
    assert metadata is not None
    rows = story.shop.rows(f"SELECT struct({arrival_order(metadata)} AS at, id) AS row FROM bronze.mixed")
    assert [row["id"] for (row,) in sorted(rows, key=lambda each: each[0]["at"])] == [1, 4, 0, 9, 8]
