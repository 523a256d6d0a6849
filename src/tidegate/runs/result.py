"""The result of a run: what the console and `run --json` show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from tidegate import __version__
from tidegate.failures import causes
from tidegate.hooks.events import Ending
from tidegate.quality.anomaly_rules import Anomaly
from tidegate.results import CheckResult, ModelResult

__all__ = [
    "KEPT",
    "PHASES",
    "UNREACHED",
    "VERIFIED",
    "Publish",
    "RunResult",
    "attach_result",
    "document_before_run",
    "result_of",
]

UNREACHED = "no changed row reaches it"
"""The reason of a model whose query filters out every row that changed in its inputs."""
VERIFIED = "verified"
"""At the end of a reason: the table was compared with a full build, and is the same."""

KEPT = "kept: built before the run was interrupted"
"""The reason for which a resumed run does not build a model."""

PHASES = ("branch_creation", "config_loading", "build_result", "iceberg_write", "quality_tests", "branch_resolution")


@dataclass(frozen=True, slots=True)
class Publish:
    mode: str
    tables: tuple[str, ...] = ()
    conflicts: int = 0
    in_doubt: bool = False
    """The lake did not answer, so main may have more than `tables`."""


@dataclass(frozen=True, slots=True)
class RunResult:
    run_id: str
    status: str
    """success, partial, failed, cancelled, or skipped where nothing had to run."""

    branch: str
    publish: Publish
    started_at: datetime
    duration_ms: int
    phase_profiles: Mapping[str, int]
    """Milliseconds by phase, added up over all models."""

    materializations: tuple[ModelResult, ...]
    check_results: tuple[CheckResult, ...] = ()
    drift: tuple[Mapping[str, Any], ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str | None = None
    failure_kind: str | None = None
    remedy: str | None = None
    where: str | None = None
    resumes: int = 0
    """How often the run was resumed."""

    branch_kept_for: str | None = None
    """`publish` or `resume` where its branch still exists."""

    repeated: bool = False
    """This is the result of an earlier call, and nothing was run now."""

    idempotency_key: str | None = None
    phase_wall_ms: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds by phase, in which parallel models count once."""

    @property
    def exit_code(self) -> int:
        return {"success": 0, "skipped": 0, "partial": 2, "cancelled": 130}.get(self.status, 1)

    @property
    def rows_written(self) -> int:
        return sum(m.rows_written for m in self.materializations)

    @property
    def ending(self) -> Ending:
        return Ending(self.run_id, self.status, self.rows_written, self.duration_ms, self.phase_profiles, self.error)

    def to_dict(self) -> dict[str, Any]:
        """The document of `run --json`. `problems` and `diagnostics`: of the configuration and the project."""
        return {
            "version": __version__,
            "command": "run",
            "run_id": self.run_id,
            "status": self.status,
            "rows_written": self.rows_written,
            "branch": self.branch,
            "publish": asdict(self.publish),
            "started_at": self.started_at.isoformat(),
            "duration_ms": self.duration_ms,
            "phase_profiles": dict(self.phase_profiles),
            "phase_wall_ms": dict(self.phase_wall_ms),
            "tables_copied": len(self.publish.tables),
            "materializations": [asdict(m) for m in self.materializations],
            "check_results": [asdict(c) for c in self.check_results],
            "drift": [dict(d) for d in self.drift],
            "anomalies": [asdict(a) for a in self.anomalies],
            "permissions": [],
            "warnings": list(self.warnings),
            "resumed": self.resumes > 0,
            "resumes": self.resumes,
            "resumed_from": self.run_id if self.resumes else None,
            "branch_kept_for": self.branch_kept_for,
            "repeated": self.repeated,
            "idempotency_key": self.idempotency_key,
            "error": self.error,
            "failure_kind": self.failure_kind,
            "where": self.where,
            "remedy": self.remedy,
            "problems": [],
            "diagnostics": [],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> RunResult:
        """The reverse of `to_dict`, from the history of runs."""
        values = _declared_fields(cls, document)
        materializations = (_declared_fields(ModelResult, each) for each in values["materializations"])
        checks = (_declared_fields(CheckResult, each) for each in values["check_results"])
        publish = _declared_fields(Publish, values["publish"])
        return cls(
            **values
            | {
                "publish": Publish(**publish | {"tables": tuple(publish["tables"])}),
                "started_at": datetime.fromisoformat(values["started_at"]),
                "materializations": tuple(
                    ModelResult(**each | {"attempts": tuple(each.get("attempts", ()))}) for each in materializations
                ),
                "check_results": tuple(
                    CheckResult(**each | {"samples": tuple(each.get("samples", ()))}) for each in checks
                ),
                "drift": tuple(values.get("drift", ())),
                "anomalies": tuple(Anomaly(**_declared_fields(Anomaly, each)) for each in values.get("anomalies", ())),
                "warnings": tuple(values.get("warnings", ())),
            }
        )


def _declared_fields(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in kind.__dataclass_fields__}


_ATTRIBUTE = "tidegate_run_result"


def attach_result(error: BaseException, result: RunResult) -> None:
    setattr(error, _ATTRIBUTE, result)


def result_of(error: BaseException) -> RunResult | None:
    """None where no run was registered."""
    results = (getattr(each, _ATTRIBUTE, None) for each in causes(error))
    return next((result for result in results if isinstance(result, RunResult)), None)


def document_before_run() -> dict[str, Any]:
    """The document of a run that was never registered."""
    result = RunResult(
        run_id="",
        status="failed",
        branch="",
        publish=Publish(""),
        started_at=datetime.now(UTC),
        duration_ms=0,
        phase_profiles={},
        materializations=(),
    )
    return {**result.to_dict(), "run_id": None, "branch": None, "started_at": None}
