"""`tidegate contract docs`: a page about a contract, in which nothing of the file is taken for markup."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path
from typing import Any

import yaml

from tests.cli.calling import Call
from tests.contracts.test_stage_validation import DELETIONS, INDICATOR, REST, contract

EVIL = "a | b <script>alert(1)</script> [x](javascript:y) `c` *d*\n# e & f"


def described() -> dict[str, Any]:
    value = contract(
        {**REST, "endpoint": "https://me:hunter2@api.example.com/orders?key=s3cret"}, {**DELETIONS, **INDICATOR}
    )
    value |= {
        "name": "Orders",
        "description": {"purpose": "Every order, as it stands.", "limitations": "None before 2020."},
        "team": {"name": "sales data", "members": [{"username": "mhopper", "role": "Owner"}]},
        "slaProperties": [{"property": "latency", "value": 4, "unit": "h"}],
    }
    amount = value["schema"][1]["properties"][1]
    amount |= {"logicalType": "number", "logicalTypeOptions": {"minimum": 0}, "required": True, "description": "gross"}
    value["schema"][1]["properties"][2]["enum"] = [{"value": "open"}, {"value": "gone"}]
    return value


def write(file: Path, value: dict[str, Any]) -> None:
    file.write_text(yaml.safe_dump(value, sort_keys=False))


def test_the_page_says_whose_where_from_what_and_by_which_rules(tmp_path: Path, tidegate: Call) -> None:
    write(tmp_path / "a.odcs.yml", described())
    page = tidegate("contract", "docs", str(tmp_path / "a.odcs.yml")).out.replace("\\", "")
    assert page.startswith("# Orders\n\nEvery order, as it stands.\n\nLimitations: None before 2020.\n")
    for expected in (
        "## Owner: sales data",
        "| mhopper | Owner |",
        "## Source orders_source",
        "| connector | rest |",
        "| endpoint | https://api.example.com/orders?*** |",
        "| raw rows in | bronze.orders_source |",
        "## Table silver.orders",
        "| key | order_id |",
        "| holds | current state |",
        "| order_id | bigint | key 1 | required | orders_source.orderId |  |  |",
        "| amount | decimal(10,2) |  | required; ≥ 0 |  | trim(amount) | gross |",
        "one of open, gone",
        "SELECT count(*) FROM ${object} WHERE amount < 0 | must be 0 |",
        "### Deletions",
        "| deleted rows are | soft |",
        "## Service levels",
        "| latency | 4 | h |",
    ):
        assert expected in page, expected
    assert "hunter2" not in page
    assert "s3cret" not in page


def test_nothing_of_the_file_is_markup(tmp_path: Path, tidegate: Call) -> None:
    value = described()
    value["name"] = value["description"]["purpose"] = value["schema"][1]["properties"][1]["description"] = EVIL
    write(tmp_path / "a.odcs.yml", value)
    page = tidegate("contract", "docs", str(tmp_path / "a.odcs.yml")).out
    assert not re.search(r"(?<!\\)[<>`*\[\]]|^# e", page, re.MULTILINE)
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in page.splitlines() if "gross" in line or "a \\| b" in line}
    assert widths <= {0, 8}
    tags: set[str] = set()
    texts: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            tags.add(tag)

        def handle_data(self, data: str) -> None:
            texts.append(data)

    Reader().feed(tidegate("contract", "docs", str(tmp_path / "a.odcs.yml"), "--html").out)
    assert tags == {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "table", "tr", "th", "td"}
    assert EVIL in texts


def test_a_page_is_written_to_a_file_once(tmp_path: Path, tidegate: Call) -> None:
    file, page = tmp_path / "a.odcs.yml", tmp_path / "docs" / "orders.md"
    write(file, described())
    assert tidegate("contract", "docs", str(file), "--output", str(page)).out == f"{page}\n"
    assert page.read_text().startswith("# Orders\n")
    again = tidegate("contract", "docs", str(file), "--output", str(page))
    assert again.code == 1
    assert "is there already" in again.err
    assert tidegate("contract", "docs", str(file), "--output", str(page), "--force").code == 0


def test_a_contract_that_only_describes_a_table_has_a_page_too(tmp_path: Path, tidegate: Call) -> None:
    value = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "days", "version": "1", "status": "active"}
    value["schema"] = [{"name": "days", "properties": [{"name": "day", "logicalType": "date"}]}]  # type: ignore[assignment]
    write(tmp_path / "a.odcs.yml", value)
    page = tidegate("contract", "docs", str(tmp_path / "a.odcs.yml"), "--json").document
    assert "## Table days" in page["text"]
    assert "| day | date |" in page["text"]


def test_what_is_no_contract_has_no_page(tmp_path: Path, tidegate: Call) -> None:
    (tmp_path / "a.odcs.yml").write_text("kind: DataContract\n")
    assert "must have 'id'" in tidegate("contract", "docs", str(tmp_path / "a.odcs.yml")).err
    (tmp_path / "b.odcs.yml").write_bytes(b"id: \xff\n")
    assert "not UTF-8" in tidegate("contract", "docs", str(tmp_path / "b.odcs.yml")).err
    assert "there is no file" in tidegate("contract", "docs", str(tmp_path / "c.odcs.yml")).err
