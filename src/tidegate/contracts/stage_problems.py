"""Every mistake of a contract, for the stages of the data that it drives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidegate.contracts.issues import Issue, problems_of, validation_error, yaml_error
from tidegate.contracts.landing_issues import bronze_issues, gold_issues, landing_issues
from tidegate.contracts.odcs_schema import structural_issues
from tidegate.contracts.silver_issues import silver_issues
from tidegate.contracts.stage_contract import StageContract
from tidegate.contracts.yaml_document import YamlDocument, read_yaml
from tidegate.errors import ContractValidationError
from tidegate.problems import Problem

__all__ = ["StageReading", "read_stages", "stages_of"]

_STAGES: dict[str, Callable[[StageContract], Iterator[Issue]]] = {
    "landing": landing_issues,
    "bronze": bronze_issues,
    "silver": silver_issues,
}


def stages_of(contract: StageContract) -> tuple[str, ...]:
    """The stages that the contract is meant to drive: those of an ingestion, else gold where it has a generator."""
    if contract.is_ingestion:
        return tuple(_STAGES)
    return () if contract.with_generator() is None else ("gold",)


@dataclass(frozen=True, slots=True)
class StageReading:
    """A contract as it was read from a file."""

    stages: tuple[str, ...]
    """Those that were judged."""

    file: str
    problems: tuple[Problem, ...]
    issues: tuple[Issue, ...] = ()
    """Those of `problems` that have a path in the file."""

    contract: StageContract | None = None
    """None where the file is no mapping."""

    document: YamlDocument | None = None

    def error(self) -> ContractValidationError:
        """Every problem, each with its path."""
        if self.document is None:
            return yaml_error(self.problems, self.file)
        return validation_error(self.document, self.issues, f"for {', '.join(self.stages)}")


def read_stages(
    text: str, file: str, stages: tuple[str, ...] | None = None, workspace_path: str | None = None
) -> StageReading:
    """Judged for `stages`; None: for those that the contract drives."""
    document, problems = read_yaml(text.replace("\r\n", "\n"), file)
    if document is None:
        return StageReading(stages or (), file, problems)
    issues = list(structural_issues(document))
    if not isinstance(document.value, dict):
        return StageReading(stages or (), file, problems_of(document, issues), tuple(issues), document=document)
    contract = StageContract(document.value)
    stages = stages_of(contract) if stages is None else stages
    reported = {issue.path for issue in issues}
    for stage in stages:
        found = gold_issues(contract, workspace_path) if stage == "gold" else _STAGES[stage](contract)
        issues += [issue for issue in found if issue.path not in reported]
    return StageReading(stages, file, problems_of(document, issues), tuple(issues), contract, document)
