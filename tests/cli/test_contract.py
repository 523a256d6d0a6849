"""`tidegate contract validate`: the contracts of a project, or files by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.calling import Call
from tests.contracts.test_stage_validation import REST, contract


def write(file: Path, value: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(value, sort_keys=False))
    return file


def test_every_contract_of_a_project_is_validated(project: Path, tidegate: Call) -> None:
    write(project / "contracts" / "shop" / "orders.odcs.yml", contract(REST))
    write(project / "models" / "silver" / "days.odcs.yaml", contract({}))
    outcome = tidegate("contract", "validate")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "contracts/shop/orders.odcs.yml: valid for landing, bronze, silver\n"
        "models/silver/days.odcs.yaml: valid\n"
        "2 contracts, no errors\n"
    )


def test_every_mistake_is_shown_with_its_line_and_ends_with_1(project: Path, tidegate: Call) -> None:
    write(project / "contracts" / "a.odcs.yml", contract({"connector": "rst"}))
    (project / "contracts" / "b.odcs.yml").write_bytes(b"kind: \xff\n")
    outcome = tidegate("contract", "validate")
    assert (outcome.code, outcome.err) == (1, "")
    for expected in (
        "'connector' must be one of rest,",
        "contracts/a.odcs.yml:",
        "did you mean rest?",
        "'source_system' is missing",
        "'landing_directory' is missing",
        "it is not UTF-8 text",
    ):
        assert expected in outcome.out
    document = tidegate("contract", "validate", "--json").document
    assert [(entry["file"], entry["valid"]) for entry in document["contracts"]] == [
        ("contracts/a.odcs.yml", False),
        ("contracts/b.odcs.yml", False),
    ]
    assert {entry["code"] for entry in document["diagnostics"]} == {"InvalidContract", "UnreadableFile"}
    assert all(entry["span"]["line"] >= 1 for entry in document["diagnostics"])


def test_a_file_by_name_needs_no_project(tmp_path: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "mine.yaml", contract(REST))
    outcome = tidegate("contract", "validate", "mine.yaml")
    assert (outcome.code, outcome.out) == (0, "mine.yaml: valid for landing, bronze, silver\n1 contract, no errors\n")
    missing = tidegate("contract", "validate", "other.yaml")
    assert missing.code != 0
    assert "there is no file 'other.yaml'" in missing.err


def test_a_project_without_contracts_has_nothing_wrong(project: Path, tidegate: Call) -> None:
    assert tidegate("contract", "validate").out == "0 contracts, no errors\n"


def test_contracts_and_their_files_may_be_apart_from_the_project_and_the_warehouse(
    project: Path, tmp_path: Path, tidegate: Call
) -> None:
    hub, assets, warehouse = tmp_path / "hub", tmp_path / "assets", tmp_path / "warehouse"
    (project / "tidegate.toml").write_text(
        f'[project]\nname = "shop"\n[lake]\nwarehouse = "{warehouse}"\n'
        f'[contracts]\nlocation = "{hub}"\nfiles_root = "{assets}"\n'
    )
    write(hub / "shop" / "orders.odcs.yml", contract(REST))
    write(project / "contracts" / "not_looked_at.odcs.yml", contract({"connector": "rst"}))
    gold = contract({})
    gold["customProperties"] = [{"property": "generator_notebook", "value": "notebooks/revenue.py"}]
    file = write(hub / "revenue.odcs.yml", gold)
    missing = tidegate("contract", "validate")
    assert missing.code == 1
    assert f"is not there in {assets}" in missing.out
    (assets / "notebooks").mkdir(parents=True)
    (assets / "notebooks" / "revenue.py").write_text("")
    outcome = tidegate("contract", "validate")
    assert outcome.code == 0
    assert outcome.out == (
        f"{file}: valid for gold\n{hub}/shop/orders.odcs.yml: valid for landing, bronze, silver\n"
        "2 contracts, no errors\n"
    )
    assert tidegate("contract", "validate", str(file)).out.startswith(f"{file}: valid for gold\n")
    assert not warehouse.exists()
