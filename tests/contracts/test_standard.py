"""What the standard offers can be used, and each kind of mistake is refused with its path: `tests/cases/contracts`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contracts.test_stage_validation import PUSH, contract
from tidegate.contracts import ContractValidationError, OpenDataContractStandard
from tidegate.contracts.ingestion import read_ingestion
from tidegate.contracts.stage_contract import StageContract

CASES = Path(__file__).parents[1] / "cases" / "contracts"
HEAD = {"version": "1.0.0", "apiVersion": "v3.2.0", "kind": "DataContract", "id": "orders"}


def cases(name: str) -> dict[str, tuple[str, list[str]]]:
    """The text of each contract, and the lines after `>`."""
    parts = re.split(r"^--- (.+)\n", (CASES / name).read_text("utf-8"), flags=re.MULTILINE)
    return {title: _case(text) for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def _case(text: str) -> tuple[str, list[str]]:
    lines = text.rstrip("\n").split("\n")
    left_out = {line[1:] for line in lines if re.fullmatch(r"-\w+", line)}
    head = [f"{key}: {value}" for key, value in HEAD.items() if key not in left_out]
    body = [line for line in lines if not line.startswith("> ") and not re.fullmatch(r"-\w+", line)]
    return "\n".join([*head, *body, ""]), [line[2:] for line in lines if line.startswith("> ")]


ACCEPTED, REFUSED = cases("accepted.txt"), cases("refused.txt")


@pytest.mark.parametrize("title", ACCEPTED)
def test_what_the_standard_offers_loads(title: str) -> None:
    text, _ = ACCEPTED[title]
    assert OpenDataContractStandard.from_string(text).id == "orders"


@pytest.mark.parametrize("title", REFUSED)
def test_each_mistake_is_refused_with_its_path(title: str) -> None:
    text, expected = REFUSED[title]
    with pytest.raises(ContractValidationError) as caught:
        OpenDataContractStandard.from_string(text)
    assert len(caught.value.issues) == len(expected), caught.value.issues
    for line in expected:
        path, _, message = line.partition(": ")
        where = rf"line \d+: {re.escape(path)}: " if path else r"line \d+: (?=an )"
        issues = [issue for issue in caught.value.issues if re.match(where, issue)]
        assert any(message in issue for issue in issues), caught.value.issues


def test_an_exclusive_bound_of_v3_0_is_the_bound_without_its_value() -> None:
    options = {"minimum": 1, "exclusiveMinimum": False, "maximum": 100, "exclusiveMaximum": True}
    value = contract(PUSH)
    value["apiVersion"] = "v3.0.0"
    value["schema"][1]["properties"][0]["logicalTypeOptions"] = options
    ingestion = read_ingestion(StageContract(value))
    assert ingestion is not None
    assert ingestion.silver.columns[0].options == {"minimum": 1, "exclusiveMaximum": 100}
