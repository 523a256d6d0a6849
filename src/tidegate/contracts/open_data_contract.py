"""`OpenDataContractStandard`: a contract as a Python object, which can be validated for each stage of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import pydantic
from open_data_contract_standard import model as standard

from tidegate.contracts.issues import Issue, validation_error, yaml_error
from tidegate.contracts.landing_issues import bronze_issues, gold_issues, landing_issues
from tidegate.contracts.odcs_schema import structural_issues
from tidegate.contracts.silver_issues import silver_issues
from tidegate.contracts.stage_contract import StageContract
from tidegate.contracts.yaml_document import YamlDocument, read_yaml

__all__ = ["OpenDataContractStandard"]


class OpenDataContractStandard(standard.OpenDataContractStandard):
    """The standard's own class, read from a file that follows the standard. Raises `ContractValidationError`."""

    model_config = pydantic.ConfigDict(extra="ignore")
    _document: YamlDocument | None = pydantic.PrivateAttr(default=None)

    @classmethod
    def from_file(cls, file_path: str) -> Self:
        with open(file_path, encoding="utf-8") as file:
            return cls._read(file.read(), str(file_path))

    @classmethod
    def from_string(cls, data_contract_str: str) -> Self:
        return cls._read(data_contract_str, "<string>")

    @classmethod
    def _read(cls, text: str, file: str) -> Self:
        document, problems = read_yaml(text.replace("\r\n", "\n"), file)
        if document is None:
            raise yaml_error(problems, file)
        issues = list(structural_issues(document))
        if not issues and not document.problems:
            try:
                contract = cls.model_validate(document.value)
            except pydantic.ValidationError as error:
                issues = [Issue(_path(part["loc"]), part["msg"]) for part in error.errors()]
            else:
                contract._document = document
                return contract
        raise validation_error(document, issues, "as an ODCS contract")

    def validate_for_landing(self) -> bool:
        """For source to landing: True, or one `ContractValidationError` with every issue."""
        return self._validate("landing", landing_issues)

    def validate_for_bronze(self) -> bool:
        """For landing to bronze."""
        return self._validate("bronze", bronze_issues)

    def validate_for_silver(self) -> bool:
        """For bronze to silver."""
        return self._validate("silver", silver_issues)

    def validate_for_gold(self, workspace_path: str | None = None) -> bool:
        """For silver to gold; with a path the generator must be there below it."""
        return self._validate("gold", lambda contract: gold_issues(contract, workspace_path))

    def _validate(self, stage: str, rules: Callable[[StageContract], Iterator[Issue]]) -> bool:
        document = self._document
        if document is None:
            value = self.model_dump(by_alias=True, exclude_none=True, mode="json")
            document = YamlDocument(self.id or "<contract>", value, (), None)
        issues = list(rules(StageContract(document.value)))
        if issues:
            raise validation_error(document, issues, f"for {stage}")
        return True


def _path(location: tuple[Any, ...]) -> tuple[str | int, ...]:
    return tuple(step for step in location if isinstance(step, (str, int)))
