"""Deliveries with files and values that cannot be read among good ones: each is in the table or in a quarantine, with
the reason, and nothing holds back the rest."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tidegate.runs import RunResult

pytestmark = pytest.mark.spark

FORMATS = {"lists": "csv", "events": "jsonl", "frames": "parquet"}
CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: {name}
version: 1.0.0
status: active
schema:
  - name: {name}_source
    customProperties:
      - {{property: connector, value: landing_push}}
      - {{property: source_system, value: shop}}
      - {{property: landing_directory, value: {name}}}
      - {{property: landing_file_format, value: {format}}}
      - {{property: ingestion_read_strategy, value: incremental}}
      - {{property: bronze_table, value: {name}}}
    properties: [{{name: id, logicalType: string}}, {{name: day, logicalType: string}},
      {{name: price, logicalType: string}}, {{name: note, logicalType: string}}]
  - name: {name}
    properties:
      - {{name: id, physicalType: bigint, logicalType: integer, primaryKey: true}}
      - {{name: day, physicalType: date, logicalType: date}}
      - {{name: price, physicalType: "decimal(10,2)", logicalType: number}}
      - {{name: note, physicalType: string, logicalType: string, logicalTypeOptions: {{maxLength: 9}}}}
    quality:
      - {{type: sql, name: future, mustBe: 0,
         query: "day > DATE'2100-01-01'"}}
"""
LONG = "9" * 2_000_000
LIST = f"""id,day,price,note
1,2024-01-31,1.10,a
2,0000-01-01,1.10,a
3,2024-01-31,1e999,a
4,2024-01-31
5,2024-01-31,1.10,{LONG}
6,2024-01-31,NaN,NULL
7,2101-01-01,1.10,a
"""
WHOLE = "; the whole file is left out"
PLACED = "SELECT _source_file, array_join(_reasons, '; ') FROM bronze.{}__quarantine"
REFUSED = "SELECT id, _stage, _columns[0], substring(_reasons[0], 1, 100) FROM silver.lists__quarantine"


@dataclass
class Delivered:
    shop: ProjectFolder
    first: RunResult


def parquet(*ids: int) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": list(ids), "price": [0.5] * len(ids)}), buffer)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def delivered(module_shop: ProjectFolder) -> Delivered:
    shop = module_shop
    for name, file_format in FORMATS.items():
        shop.file(f"contracts/{name}.odcs.yml", CONTRACT.format(name=name, format=file_format))
    zipped = gzip.compress(b"id,day\n8,2024-01-31\n")
    files = {
        "lists/a.csv": LIST.encode(),
        "lists/cut.csv.gz": zipped[: len(zipped) // 2],
        "lists/latin.csv": "id,note\n9,é\n".encode("latin-1"),
        "lists/nul.csv": b"id,note\n9,\x00\n",
        "lists/twice.csv": b"id,ID\n9,9\n",
        "events/a.jsonl": b'{"id": 1}\n{"Id": 2, "price": 1.5}\n{"id": 3, "ID": 3}\nnothing\n',
        "events/latin.jsonl": '{"id": 4, "note": "é"}\n'.encode("latin-1"),
        "frames/a.parquet": parquet(1, 2),
        "frames/cut.parquet": parquet(3, 4)[:-20],
        "frames/empty.parquet": b"",
    }
    for path, content in files.items():
        target = shop.root / "landing" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return Delivered(shop, shop.run())


def test_what_can_be_read_is_loaded(delivered: Delivered) -> None:
    assert set(statuses(delivered.first).values()) == {"completed"}
    ids = " UNION ALL ".join(f"SELECT '{name}' AS name, id, note FROM silver.{name}" for name in FORMATS)
    assert sorted((name, id) for name, id, _ in delivered.shop.rows(ids)) == [
        ("events", 1),
        ("events", 2),
        ("frames", 1),
        ("frames", 2),
        ("lists", 1),
        ("lists", 6),
    ]


def test_a_file_and_a_record_that_cannot_be_read_are_in_the_quarantine_of_bronze(delivered: Delivered) -> None:
    rows = delivered.shop.rows(" UNION ALL ".join(PLACED.format(name) for name in FORMATS))
    reasons = {file: reason for file, reason in rows if not file.endswith("a.jsonl")}
    assert reasons == {
        "lists/a.csv": "has 2 fields where 4 are expected",
        "lists/cut.csv.gz": reasons["lists/cut.csv.gz"],
        "lists/latin.csv": f"is not UTF-8: see the byte at offset 10{WHOLE}",
        "lists/nul.csv": f"holds a NUL byte, which no text has, at offset 10{WHOLE}",
        "lists/twice.csv": "has 'ID' twice in its header, in columns 1 and 2 (upper and lower case are the same)"
        + WHOLE,
        "events/latin.jsonl": reasons["events/latin.jsonl"],
        "frames/cut.parquet": reasons["frames/cut.parquet"],
        "frames/empty.parquet": f"is empty, so it is no Parquet file{WHOLE}",
    }
    assert reasons["events/latin.jsonl"].startswith("is not UTF-8: see the byte at offset 19")
    assert reasons["lists/cut.csv.gz"].startswith("is not a whole gzip file: ")
    assert reasons["frames/cut.parquet"].startswith("is no whole Parquet file: ")
    assert sorted(reason for file, reason in rows if file.endswith("a.jsonl")) == [
        "has the keys 'id' and 'ID', which differ only in case and are one column",
        "is not JSON: Expecting value (column 1)",
    ]
    assert any("lists/latin.csv:2 is not UTF-8" in warning for warning in delivered.first.warnings)


def test_a_value_that_cannot_be_read_is_in_the_quarantine_of_silver(delivered: Delivered) -> None:
    refused = delivered.shop.rows(REFUSED)
    assert refused == [
        ("2", "cast", "day", "'0000-01-01' is not a date"),
        ("3", "cast", "price", "'1e999' is not a decimal(10,2)"),
        ("5", "constraint", "note", refused[2][3]),
        ("7", "quality", "day", "quality rule future fails for day 2101-01-01: day > DATE'2100-01-01'"),
    ]
    (note,) = delivered.shop.rows("SELECT note FROM silver.lists__quarantine WHERE id = '5'")
    assert note == (LONG,)
    line = CONTRACT.splitlines().index("         query: \"day > DATE'2100-01-01'\"}}") + 1
    assert any(f"the rule is in contracts/lists.odcs.yml:{line}" in warning for warning in delivered.first.warnings)


def test_what_was_refused_is_not_read_again_and_a_corrected_file_is_loaded(delivered: Delivered) -> None:
    shop = delivered.shop
    assert set(run_types(shop.run()).values()) == {"skip"}
    (shop.root / "landing/frames/cut-2.parquet").write_bytes(parquet(3, 4))
    (shop.root / "landing/events/b.jsonl").write_text(json.dumps({"ID": 5}))
    assert shop.run().exit_code == 0
    ids = shop.rows("SELECT 'frames', id FROM silver.frames UNION ALL SELECT 'events', id FROM silver.events")
    assert ids == [("events", 1), ("events", 2), ("events", 5), *(("frames", number) for number in (1, 2, 3, 4))]
    assert len(shop.rows("SELECT _source_file FROM bronze.frames__quarantine")) == 2
