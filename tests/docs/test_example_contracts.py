"""The sample contracts are valid for every stage, their data fits them, and the README beside them is true."""

from __future__ import annotations

import csv
import json
import re
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest
import yaml

from tidegate.cli.main import run_cli
from tidegate.config import ZoneSettings
from tidegate.contracts import OpenDataContractStandard
from tidegate.contracts.ingestion import Ingestion
from tidegate.contracts.read_ingestion import read_ingestion
from tidegate.contracts.stage_contract import StageContract
from tidegate.operations.contract_tools.file_columns import columns_of_file

FOLDER = Path(__file__).parents[2] / "examples" / "contracts"
README = (FOLDER / "README.md").read_text("utf-8")
SAMPLES = {path.parent.name: path for path in sorted(FOLDER.rglob("*.odcs.yml"))}


def ingestion(sample: Path) -> Ingestion:
    value = read_ingestion(StageContract(yaml.safe_load(sample.read_text("utf-8"))))
    assert value is not None
    return value


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_valid_for_landing_bronze_and_silver(name: str) -> None:
    contract = OpenDataContractStandard.from_file(str(SAMPLES[name]))
    assert contract.validate_for_landing() is True
    assert contract.validate_for_bronze() is True
    assert contract.validate_for_silver() is True


@pytest.mark.parametrize("name", SAMPLES)
def test_the_readme_says_what_each_sample_is(name: str) -> None:
    value, path = ingestion(SAMPLES[name]), SAMPLES[name].relative_to(FOLDER).as_posix()
    assert value.source.connector.name == name
    reads = "full_snapshot" if value.source.full_snapshot else "incremental"
    rules = value.silver.deletion
    deletions = "none"
    if rules is not None:
        deletions = f"{'inferred' if rules.inferred else 'explicit'}, {'soft' if rules.soft else 'hard'}"
    assert f"| [{path}]({path}) | {name} | {reads} | {value.silver.strategy} | {deletions} |" in README


def test_the_commands_of_the_readme_work_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    (block,) = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    for line in block.splitlines():
        program, *words = line.split()
        assert (program, run_cli(words)) == ("tidegate", 0)


def test_the_files_have_the_columns_of_their_contracts() -> None:
    pushed = sorted(FOLDER.glob("landing_push/landing/push/orders/*.csv"))
    for file in pushed:
        columns = columns_of_file(file, ZoneSettings()).columns
        assert tuple(column.name for column in columns) == ingestion(SAMPLES["landing_push"]).source.columns
    people = ingestion(SAMPLES["rest"])
    for page in sorted(FOLDER.glob("rest/data/*.json")):
        records = json.loads(page.read_text("utf-8"))[people.source.content_path]
        assert records
        assert all(set(record) == set(people.source.columns) for record in records)
    for name in ("sqlserver", "sqlserver_cdc"):
        (script,) = FOLDER.glob(f"{name}/data/*.sql")
        value = ingestion(SAMPLES[name])
        assert f"CREATE TABLE {value.source.physical_name} (" in script.read_text("utf-8")
        assert f"INSERT INTO {value.source.physical_name} ({', '.join(value.source.columns)})" in script.read_text(
            "utf-8"
        )


def records() -> list[tuple[str, dict[str, str]]]:
    files = sorted(FOLDER.glob("landing_push/landing/push/orders/*.csv"))
    return [(file.name, record) for file in files for record in csv.DictReader(file.read_text("utf-8").splitlines())]


def refused(record: dict[str, str]) -> tuple[str, str] | None:
    """Stage and column, by the rules of the sample in plain Python."""
    if not record["OrderId"]:
        return "constraint", "order_id"
    try:
        amount = None if record["Amount"] == "N/A" else Decimal(record["Amount"])
    except InvalidOperation:
        return "cast", "amount"
    if amount is not None and amount < 0:
        return "constraint", "amount"
    if record["Status"].strip().lower() not in ("open", "paid", "cancelled"):
        return "constraint", "status"
    is_early = date.fromisoformat(record["UpdatedAt"][:10]) < date.fromisoformat(record["OrderedOn"])
    return ("quality", "") if is_early else None


def test_the_pushed_rows_that_the_readme_calls_refused_are_those_that_break_a_rule() -> None:
    told = re.findall(
        r"^\| (day-\d\.csv), (?:order (\d+)|without a number) \| (\w+) \|(?: (\w+))? +\| ", README, re.MULTILINE
    )
    found = [(file, record["OrderId"], *why) for file, record in records() if (why := refused(record))]
    assert sorted(told) == sorted(found)
    assert len(records()) == 10
    left = {record["OrderId"]: file for file, record in records() if refused(record) is None}
    assert left == {"1001": "day-2.csv", "1002": "day-1.csv", "1003": "day-1.csv", "1007": "day-2.csv"}
