"""Every error that Tidegate raises.

A mistake in the *user's project* is a diagnostic, which the compiler collects; what failed in the *world* is one of
these. Each says what happened (`str(error)`), where (`where`: a file and line, a table or a setting), and what to do
(`remedy`); `kind` says whether trying again makes sense.

    TidegateError
    ├── ConfigError            tidegate.toml is missing, unreadable or wrong (all problems at once)
    ├── ProjectError           the project has compile errors (all diagnostics at once)
    ├── SelectionError         a selection names nothing
    ├── SetupError             the machine lacks something
    │   ├── JavaMissingError
    │   └── JarsMissingError
    ├── StateError             the state database
    │   └── RunExistsError
    ├── LakeError              the catalog or its files
    │   ├── LakeUnavailableError
    │   ├── BranchExistsError
    │   ├── BranchMissingError
    │   ├── TableMissingError
    │   ├── SnapshotMissingError
    │   └── PublishConflictError
    ├── SourceError            a source outside the lake cannot be asked
    ├── ModelError             one model failed; its siblings go on
    │   ├── QueryError         Spark refused or broke the query
    │   ├── LandingError       a zone or file cannot be read
    │   ├── DuplicateKeysError
    │   ├── NullKeysError
    │   ├── EmptyResultError
    │   ├── DriftRefusedError
    │   ├── MassDeleteError
    │   ├── StrategyError      the result does not fit the strategy
    │   └── QualityError       a check of severity `error` did not pass
    └── RunCancelledError
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

__all__ = [
    "BranchExistsError",
    "BranchMissingError",
    "ConfigError",
    "DriftRefusedError",
    "DuplicateKeysError",
    "EmptyResultError",
    "FailureKind",
    "JarsMissingError",
    "JavaMissingError",
    "LakeError",
    "LakeUnavailableError",
    "LandingError",
    "MassDeleteError",
    "ModelError",
    "NullKeysError",
    "ProjectError",
    "PublishConflictError",
    "QualityError",
    "QueryError",
    "RunCancelledError",
    "RunExistsError",
    "SelectionError",
    "SetupError",
    "SnapshotMissingError",
    "SourceError",
    "StateError",
    "StrategyError",
    "TableMissingError",
    "TidegateError",
]


class FailureKind(StrEnum):
    """Why something failed, in the words that `run --json` uses."""

    AUTH_FAILED = "AuthFailed"
    CONNECTION_FAILED = "ConnectionFailed"
    QUERY_REJECTED = "QueryRejected"
    QUOTA_EXCEEDED = "QuotaExceeded"
    NOT_FOUND = "NotFound"
    TRANSIENT = "Transient"
    UNKNOWN = "Unknown"
    QUALITY_FAILED = "QualityFailed"
    CONTRACT_FAILED = "ContractFailed"
    CONFLICT = "Conflict"
    TIMEOUT = "Timeout"
    CANCELLED = "Cancelled"


class TidegateError(Exception):
    """The root. `where` and `remedy` are shown on lines of their own."""

    kind: FailureKind = FailureKind.UNKNOWN
    exit_code: int = 1

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        return self.message


class ConfigError(TidegateError):
    """`problems` are lines such as `tidegate.toml:4: unknown key 'nmae' in [project]; did you mean 'name'?`."""

    def __init__(
        self, message: str, *, problems: Sequence[str] = (), where: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.problems = tuple(problems)


class ProjectError(TidegateError):
    """`diagnostics` are `tidegate.compiler.Diagnostic` values, at least one of severity error."""

    def __init__(self, message: str, *, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class SelectionError(TidegateError):
    kind = FailureKind.NOT_FOUND


class SetupError(TidegateError):
    pass


class JavaMissingError(SetupError):
    pass


class JarsMissingError(SetupError):
    pass


class StateError(TidegateError):
    kind = FailureKind.CONNECTION_FAILED


class RunExistsError(StateError):
    kind = FailureKind.CONFLICT


class LakeError(TidegateError):
    pass


class LakeUnavailableError(LakeError):
    kind = FailureKind.CONNECTION_FAILED


class BranchExistsError(LakeError):
    kind = FailureKind.CONFLICT


class BranchMissingError(LakeError):
    kind = FailureKind.NOT_FOUND


class TableMissingError(LakeError):
    kind = FailureKind.NOT_FOUND


class SnapshotMissingError(LakeError):
    kind = FailureKind.NOT_FOUND


class PublishConflictError(LakeError):
    """Main moved `tables` since the branch started from them; nothing was published."""

    kind = FailureKind.CONFLICT

    def __init__(self, message: str, *, tables: Sequence[Any] = (), remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.tables = tuple(tables)


class SourceError(TidegateError):
    """`source` is the name in `[sources.<name>]`; `kind` differs from failure to failure."""

    def __init__(
        self, message: str, *, source: str, kind: FailureKind, where: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.source = source
        self.kind = kind


class ModelError(TidegateError):
    pass


class QueryError(ModelError):
    kind = FailureKind.QUERY_REJECTED


class LandingError(ModelError):
    kind = FailureKind.NOT_FOUND


class DuplicateKeysError(ModelError):
    kind = FailureKind.QUALITY_FAILED


class NullKeysError(ModelError):
    kind = FailureKind.QUALITY_FAILED


class EmptyResultError(ModelError):
    kind = FailureKind.QUALITY_FAILED


class DriftRefusedError(ModelError):
    kind = FailureKind.QUERY_REJECTED


class MassDeleteError(ModelError):
    kind = FailureKind.QUALITY_FAILED


class StrategyError(ModelError):
    kind = FailureKind.QUERY_REJECTED


class QualityError(ModelError):
    kind = FailureKind.QUALITY_FAILED


class RunCancelledError(TidegateError):
    kind = FailureKind.CANCELLED
    exit_code = 130
