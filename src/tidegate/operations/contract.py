"""What is wrong with contracts: by the standard, and for the stages that they drive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity, Span
from tidegate.contracts.open_data_contract import contract_problems
from tidegate.errors import SelectionError
from tidegate.problems import Place, Problem

__all__ = ["ContractReport", "ContractValidation", "project_contracts", "validate_contracts"]

_FOLDERS = ("models", "pipelines")
_ENDINGS = (".odcs.yml", ".odcs.yaml")


@dataclass(frozen=True, slots=True)
class ContractReport:
    """One file."""

    file: str
    """Relative to the project where it is in it."""

    stages: tuple[str, ...]
    """Those that the contract drives; none for one that only describes a table."""

    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class ContractValidation:
    root: Path
    """What the places of its diagnostics are relative to."""

    contracts: tuple[ContractReport, ...]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(diagnostic for contract in self.contracts for diagnostic in contract.diagnostics)

    @property
    def exit_code(self) -> int:
        return 1 if self.diagnostics else 0

    def document(self) -> dict[str, Any]:
        return {
            "contracts": [
                {"file": contract.file, "stages": list(contract.stages), "valid": not contract.diagnostics}
                for contract in self.contracts
            ],
            "diagnostics": [asdict(diagnostic) for diagnostic in self.diagnostics],
        }


def project_contracts(root: Path, location: Path | None = None) -> list[Path]:
    """Every ODCS file of a project: those that stand alone, in `location`, and those beside models."""
    folders = {location or root / "contracts", *(root / folder for folder in _FOLDERS)}
    files = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    return sorted(path for path in files if path.name.lower().endswith(_ENDINGS))


def validate_contracts(root: Path, files: Iterable[Path]) -> ContractValidation:
    return ContractValidation(root, tuple(_validate(root, path) for path in files))


def _validate(root: Path, path: Path) -> ContractReport:
    file = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        message = f"there is no file '{file}'"
        raise SelectionError(message, remedy="Without a name all contracts of the project are validated.") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
        unreadable = Problem("UnreadableFile", f"the file cannot be read: {reason}", Place(file))
        return ContractReport(file, (), (_diagnostic(unreadable),))
    stages, problems = contract_problems(text, file, workspace_path=str(root))
    return ContractReport(file, stages, tuple(map(_diagnostic, problems)))


def _diagnostic(problem: Problem) -> Diagnostic:
    place = Span(problem.place.file, problem.place.line, problem.place.col)
    return Diagnostic(
        DiagnosticSeverity.ERROR, problem.code, problem.message, span=place, suggestion=problem.suggestion
    )
