"""`tidegate ingest`: one contract's source is landed, and one line says what."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml

from tests.cli.calling import Call
from tests.ingest.landing_project import FILES, REST, contract_document
from tests.ingest.scripted_server import Answer, serving
from tidegate.cli.ingest_progress import IngestProgress
from tidegate.ingest.port import Extent, ReadProgress


def write(project: Path, file: str = "contracts/orders.odcs.yml", **properties: object) -> None:
    path = project / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(contract_document(**properties), sort_keys=False))


def drop(project: Path, name: str, text: str) -> None:
    (project / "drop").mkdir(exist_ok=True)
    (project / "drop" / name).write_text(text)


def test_what_was_landed_is_told_in_one_line(project: Path, tidegate: Call) -> None:
    write(project, **FILES)
    drop(project, "a.csv", "id\n1\n")
    first = tidegate("ingest", "orders")
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("orders: 1 file landed in orders/run-")
    assert tidegate("ingest", "contracts/orders.odcs.yml").out == "orders: nothing new\n"
    drop(project, "b.csv", "id\n2\n")
    document = tidegate("ingest", "orders_source", "--json").document
    assert document["files"] == [f"{document['run_id']}/000001.csv"]
    assert (document["status"], document["table"], document["rows"]) == ("landed", "bronze.orders_source", None)
    assert document["bounds"] == {"lower": None, "upper": None}
    assert (project / "landing/orders" / document["files"][0]).read_text() == "id\n2\n"


def test_bounds_and_the_next_checkpoint_are_shown(project: Path, tidegate: Call) -> None:
    rows = [{"id": 7}]
    with serving(lambda call: Answer({"results": rows})) as server:
        values = {**REST, "endpoint": f"{server.url}/orders", "ingestion_read_strategy": "incremental"}
        write(project, **values, ingestion_filtering_column="id", incremental_parameter="after")
        first = tidegate("ingest", "orders").out
        rows[:] = [{"id": 8}]
        second = tidegate("ingest", "orders").out
    assert first.endswith("; next checkpoint 7\n")
    assert "1 file, 1 row landed in orders/run-" in second
    assert second.endswith(", after 7; next checkpoint 8\n")
    assert server.targets == ["/orders", "/orders after=7"]


def test_pushed_files_are_not_read(project: Path, tidegate: Call) -> None:
    write(project, **{**FILES, "connector": "landing_push", "endpoint": None})
    assert tidegate("ingest", "orders").out == "orders: nothing to read; others put files into zone orders\n"
    assert tidegate("ingest", "orders", "--json").document["status"] == "pushed"


def test_a_source_that_fails_is_reported_with_what_to_do(project: Path, tidegate: Call) -> None:
    with serving(lambda call: Answer(status=401)) as server:
        write(project, **{**REST, "endpoint": f"{server.url}/orders"})
        outcome = tidegate("ingest", "orders")
    assert outcome.code == 1
    assert "source 'shop': the credentials were refused (HTTP 401)" in outcome.err
    assert "give the credentials in [sources.shop] of kind rest" in outcome.err


def test_a_contract_is_found_by_name_or_not_at_all(project: Path, tidegate: Call) -> None:
    write(project, **FILES)
    missing = tidegate("ingest", "orderz")
    assert missing.code == 1
    assert "there is no contract 'orderz'; did you mean orders" in missing.err
    assert "there is no file 'a.yml'" in tidegate("ingest", "a.yml").err
    write(project, "models/silver/again.odcs.yml", **FILES)
    assert "is in several contracts: contracts/orders.odcs.yml and models" in tidegate("ingest", "orders").err


def test_a_contract_that_is_not_valid_lists_everything(project: Path, tidegate: Call) -> None:
    write(project, connector="rest", pagination={"kind": "cursor"})
    outcome = tidegate("ingest", "orders")
    assert outcome.code == 1
    for expected in ("'endpoint' is missing", "'landing_directory' is missing", "'pagination' of kind cursor needs"):
        assert expected in outcome.err
    (project / "contracts/orders.odcs.yml").write_bytes(b"id: caf\xe9\n")
    assert "it is not UTF-8 text" in tidegate("ingest", "contracts/orders.odcs.yml").err


def test_contracts_may_be_elsewhere_than_files_and_the_project(tmp_path: Path, project: Path, tidegate: Call) -> None:
    elsewhere = tmp_path / "hub"
    toml = f'[project]\nname = "shop"\n[contracts]\nlocation = "{elsewhere}/odcs"\nfiles_root = "{elsewhere}/assets"\n'
    (project / "tidegate.toml").write_text(toml)
    write(elsewhere, "odcs/deep/orders.odcs.yml", **FILES)
    (elsewhere / "assets").mkdir()
    drop(elsewhere / "assets", "a.csv", "id\n1\n")
    assert "1 file landed" in tidegate("ingest", "orders").out
    assert tidegate("ingest", "orders", "--json").document["file"] == f"{elsewhere}/odcs/deep/orders.odcs.yml"
    assert "1 contract, no errors" in tidegate("contract", "validate").out


def test_progress_names_parts_rows_and_speed() -> None:
    progress = ReadProgress("orders", Extent("ranges", 12, 120_000, 40), 3, 5, 2.0)
    assert progress.text == "orders  12 of 40 ranges  120,000 rows  60,000 rows/s  continued after batch 3"
    assert ReadProgress("orders", Extent("pages", 1), 0, 0, 0.0).text == "orders  1 page"


def test_the_screen_shows_the_newest_progress_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    with IngestProgress(screen, clock=lambda: 0.0, color=False) as shown:
        shown.show(ReadProgress("orders", Extent("pages", 3, rows=9), 0, 0, 1.0))
        shown._live.refresh()
    assert "orders  3 pages  9 rows  9 rows/s" in screen.getvalue()
