"""What is wrong with contracts: by the standard, and for the stages that they drive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity, Span
from tidegate.config import Settings
from tidegate.contracts.stage_problems import read_stages
from tidegate.errors import SelectionError
from tidegate.problems import Place, Problem
from tidegate.project.model_files import MODEL_FOLDERS, contract_files

__all__ = ["ContractReport", "ContractValidation", "project_contracts", "validate_contracts"]


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


def project_contracts(settings: Settings) -> list[Path]:
    """Every ODCS file of a project: those that stand alone in `[contracts] location`, and those beside models."""
    folders = (settings.contracts.location, *(settings.root / folder for folder in MODEL_FOLDERS))
    return sorted({file for folder in folders for file in contract_files(folder)})


def validate_contracts(root: Path, files: Iterable[Path], files_root: Path | None = None) -> ContractValidation:
    """`files_root`: what paths in contracts are relative to, by default `root`."""
    return ContractValidation(root, tuple(_validate(root, path, files_root or root) for path in files))


def _validate(root: Path, path: Path, files_root: Path) -> ContractReport:
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
    reading = read_stages(text, file, workspace_path=str(files_root))
    return ContractReport(file, reading.stages, tuple(map(_diagnostic, reading.problems)))


def _diagnostic(problem: Problem) -> Diagnostic:
    place = Span(problem.place.file, problem.place.line, problem.place.col)
    return Diagnostic(
        DiagnosticSeverity.ERROR, problem.code, problem.message, span=place, suggestion=problem.suggestion
    )
