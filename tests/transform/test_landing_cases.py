"""Each file of cases/landing is one behaviour: files in a zone, then the columns and rows, or the error, they give.

Its first line says the behaviour; `declare:`, `known:`, `header:`, `delimiter:` and `bad_records:` lines are settings.
A `raw: true` zone gives texts, and behind them file and number of each record; `content_path:` may be set there.
Rows are JSON arrays in any order; dates, times and decimals are written as text. `bad` lists the records that are left
out: file, line, text, reasons, columns.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tidegate.config import ZoneSettings
from tidegate.errors import LandingError
from tidegate.project.landing_files import list_zone
from tidegate.transform.landing.delivery import Delivery
from tidegate.transform.landing.landing_errors import explain_read_error
from tidegate.transform.landing.zone_reader import read_zone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DELIVERY = Delivery("run-1", datetime(2026, 1, 1, tzinfo=UTC))
NOT_SHOWN = ("_ingested_at", "_run_id", "_op", "_commit_time", "_sequence")
CASES = sorted((Path(__file__).parent.parent / "cases" / "landing").glob("*.txt"))


def plain(value: Any) -> Any:
    if isinstance(value, (date, datetime, Decimal)):
        return str(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.asDict().items()} if hasattr(value, "asDict") else value


def parts(case: Path) -> tuple[list[str], list[tuple[str, str]]]:
    head, *sections = case.read_text().split("\n-- ")
    return head.splitlines()[1:], [tuple(part.partition("\n")[::2]) for part in sections]  # type: ignore[misc]


def zone_settings(lines: list[str]) -> tuple[ZoneSettings, str | None]:
    given = [tuple(line.split(": ", 1)) for line in lines]
    declared = dict(value.split(" ", 1) for key, value in given if key == "declare")
    single = dict(given)
    return ZoneSettings(
        header={"true": True, "false": False}.get(single.get("header", "")),
        delimiter=single.get("delimiter"),
        columns=declared or None,
        bad_records=single.get("bad_records"),
        raw="raw" in single,
        content_path=single.get("content_path"),
    ), single.get("known")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_landing_files_are_read_as_the_case_says(spark: SparkSession, tmp_path: Path, case: Path) -> None:
    from pyspark.sql import functions as F

    lines, sections = parts(case)
    settings, known = zone_settings(lines)
    folder = tmp_path / "zone"
    folder.mkdir()
    expected: dict[str, str] = {}
    for title, body in sections:
        kind, _, name = title.partition(" ")
        if kind == "file":
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(f"{body}\n" if body else "")
        else:
            expected[kind] = name if kind == "error" else body
            expected["message"] = body.strip() if kind == "error" else ""
    files = list_zone(tmp_path, "zone")

    if "error" in expected:
        error = failure(spark, folder, files, settings, known)
        assert str(error) == expected["message"]
        assert str(error.where).replace(f"{folder}/", "").replace(str(folder), "") == expected["error"]
        assert error.remedy
        return
    # However the folder is written.
    zone = read_zone(spark, folder / ".." / "zone", files, settings, known, delivery=DELIVERY)
    assert zone.columns == expected["columns"].strip()
    frame = zone.frame
    if settings.raw:
        frame = frame.withColumn("_source_file", F.regexp_replace("_source_file", "^zone/", "")).drop(*NOT_SHOWN)
    rows = sorted(json.dumps(plain(list(row)), ensure_ascii=False) for row in frame.collect())
    wanted = [json.dumps(json.loads(line), ensure_ascii=False) for line in expected["rows"].strip().splitlines()]
    assert rows == sorted(wanted)
    assert "\n".join(zone.notes) == expected.get("notes", "").strip()
    bad = zone.bad_records.collect() if zone.bad_records is not None else []
    records = [[Path(row._source_file).name, row._line, row._text, row._reasons, row._columns] for row in bad]
    assert sorted(records) == [json.loads(line) for line in expected.get("bad", "").strip().splitlines()]


def failure(spark: SparkSession, folder: Path, files: Any, settings: ZoneSettings, known: str | None) -> LandingError:
    """At once, or when the rows are read."""
    try:
        read_zone(spark, folder, files, settings, known, delivery=DELIVERY).frame.collect()
    except LandingError as error:
        return error
    except Exception as error:
        if explained := explain_read_error(error, files):
            return explained
        raise
    raise AssertionError("nothing failed")
