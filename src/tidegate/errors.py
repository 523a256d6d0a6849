"""Every error that Tidegate raises.

A mistake in the *user's project* is a diagnostic, which the compiler collects; what failed in the *world* is one of
these. Each has what happened (`str(error)`), where (`where`: a file and line, a table or a setting), and what to do
(`remedy`); `kind` decides whether it is retried.

    TidegateError
    ├── ConfigError            tidegate.toml is missing, unreadable or wrong (all problems at once)
    ├── ProjectError           the project has compile errors (all diagnostics at once)
    ├── ContractBrokenError    rows that a run made do not keep the contract of their model
    ├── ContractValidationError  a contract lacks what a stage needs (all issues at once)
    ├── OptionsError           what was asked for cannot be done as asked
    ├── SelectionError         a selection names nothing
    ├── SetupError             the machine lacks something
    │   ├── JavaMissingError
    │   ├── JarsMissingError
    │   └── SandboxMissingError  nothing here can separate the project's Python from the system
    ├── StorageError           a file that Tidegate keeps cannot be read or written
    ├── RawFileError           a raw file of a chunked load cannot be read as what its name says
    ├── StateError             the state database
    │   ├── RunExistsError
    │   ├── KeyTakenError      another run has the idempotency key
    │   └── RunTakenOverError  the run continues in another process
    ├── LakeError              the catalog or its files
    │   ├── LakeUnavailableError
    │   ├── BranchExistsError
    │   ├── BranchMissingError
    │   ├── TableMissingError
    │   ├── SnapshotMissingError
    │   └── PublishConflictError
    ├── SourceError            a source outside the lake cannot be read
    ├── ModelError             one model failed; its siblings continue
    │   ├── QueryError         Spark refused or broke the query
    │   │   └── StatementError a query that was typed cannot be run
    │   ├── LandingError       a zone or file cannot be read
    │   ├── DuplicateKeysError
    │   ├── NullKeysError
    │   ├── EmptyResultError
    │   ├── DriftRefusedError
    │   ├── MassDeleteError
    │   ├── StrategyError      the result does not fit the strategy
    │   ├── QualityError       a check of severity `error` did not pass
    │   ├── ModelTimeoutError  a time limit was over
    │   ├── PythonCodeError    Python of the project raised, or took more than the sandbox gives it
    │   ├── SandboxDiedError   the process that starts sandboxed code ended
    │   └── SparkDiedError     the process that runs Spark ended under the model
    ├── CircuitOpenError       a service failed too often to be called now
    ├── RunAbortedError        the run gave up: its time is over, its memory is, too many models failed
    │   ├── HookError          a hook that may abort the run failed
    │   └── BudgetError        [run.budget] is used up
    ├── RunInFlightError       the run is still running
    └── RunCancelledError
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

__all__ = [
    "BranchExistsError",
    "BranchMissingError",
    "BudgetError",
    "CircuitOpenError",
    "ConfigError",
    "ContractBrokenError",
    "ContractValidationError",
    "DriftRefusedError",
    "DuplicateKeysError",
    "EmptyResultError",
    "FailureKind",
    "HookError",
    "JarsMissingError",
    "JavaMissingError",
    "KeyTakenError",
    "LakeError",
    "LakeUnavailableError",
    "LandingError",
    "MassDeleteError",
    "ModelError",
    "ModelTimeoutError",
    "NullKeysError",
    "OptionsError",
    "ProjectError",
    "PublishConflictError",
    "PythonCodeError",
    "QualityError",
    "QueryError",
    "RawFileError",
    "RunAbortedError",
    "RunCancelledError",
    "RunExistsError",
    "RunInFlightError",
    "RunTakenOverError",
    "SandboxDiedError",
    "SandboxMissingError",
    "SelectionError",
    "SetupError",
    "SnapshotMissingError",
    "SourceError",
    "SparkDiedError",
    "StateError",
    "StatementError",
    "StorageError",
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

    @property
    def is_transient(self) -> bool:
        """The same work may succeed when it is tried again."""
        return self in _TRANSIENT

    @property
    def stops_run(self) -> bool:
        """Other work would fail in the same way, and do harm: a wrong password tried often locks the user out."""
        return self is FailureKind.AUTH_FAILED

    @property
    def means(self) -> str:
        """One sentence."""
        return _MEANINGS[self]


_TRANSIENT = frozenset({FailureKind.TRANSIENT, FailureKind.CONNECTION_FAILED, FailureKind.QUOTA_EXCEEDED})

_MEANINGS = {
    FailureKind.AUTH_FAILED: "A user, a password or a permission is missing or wrong.",
    FailureKind.CONNECTION_FAILED: "A service cannot be reached, or the connection broke.",
    FailureKind.QUERY_REJECTED: "The project, its settings, a query or the data it reads cannot be worked with.",
    FailureKind.QUOTA_EXCEEDED: "A service asks for fewer requests; less is done at a time, after a pause.",
    FailureKind.NOT_FOUND: "A table, a file or something else that was named is not there.",
    FailureKind.TRANSIENT: "A passing problem, such as a server that restarts, a lock or a full disk.",
    FailureKind.UNKNOWN: "Nothing is known that would say more.",
    FailureKind.QUALITY_FAILED: "A check of severity error, a rule about keys, or a budget of rows or bytes is broken.",
    FailureKind.CONTRACT_FAILED: "The data does not keep its contract.",
    FailureKind.CONFLICT: "Someone else changed the same thing first. A publish is tried again on what is there now.",
    FailureKind.TIMEOUT: "A time limit was over.",
    FailureKind.CANCELLED: "The work was ended from outside.",
}


class TidegateError(Exception):
    """The root. `where` and `remedy` are shown on lines of their own.

    `retry_after`: seconds that the service asks to wait before the next request.
    """

    kind: FailureKind = FailureKind.UNKNOWN
    exit_code: int = 1
    retry_after: float | None = None

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        return self.message


class ConfigError(TidegateError):
    """`problems` are lines such as `tidegate.toml:4: unknown key 'nmae' in [project]; did you mean 'name'?`."""

    kind = FailureKind.QUERY_REJECTED

    def __init__(
        self, message: str, *, problems: Sequence[str] = (), where: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.problems = tuple(problems)


class ProjectError(TidegateError):
    """`diagnostics` are `tidegate.compiler.Diagnostic` values, at least one of severity error."""

    kind = FailureKind.QUERY_REJECTED

    def __init__(self, message: str, *, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class ContractValidationError(TidegateError):
    """`issues` are lines such as `line 12: schema[0].customProperties: 'connector' is missing`; the message has all."""

    kind = FailureKind.CONTRACT_FAILED

    def __init__(self, purpose: str, issues: Sequence[str], where: str) -> None:
        count = "1 issue" if len(issues) == 1 else f"{len(issues)} issues"
        lines = "".join(f"\n  {issue}" for issue in issues)
        super().__init__(f"{where} is not valid {purpose}: {count}{lines}", where=where)
        self.issues = tuple(issues)


class ContractBrokenError(TidegateError):
    kind = FailureKind.CONTRACT_FAILED


class OptionsError(TidegateError):
    kind = FailureKind.QUERY_REJECTED


class SelectionError(TidegateError):
    kind = FailureKind.NOT_FOUND


class SetupError(TidegateError):
    pass


class JavaMissingError(SetupError):
    kind = FailureKind.NOT_FOUND


class JarsMissingError(SetupError):
    kind = FailureKind.NOT_FOUND


class SandboxMissingError(SetupError):
    kind = FailureKind.QUERY_REJECTED


class RawFileError(TidegateError):
    kind = FailureKind.QUERY_REJECTED


class StorageError(TidegateError):
    """`kind` differs from failure to failure."""

    def __init__(self, message: str, *, kind: FailureKind, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.kind = kind


class StateError(TidegateError):
    kind = FailureKind.CONNECTION_FAILED


class RunExistsError(StateError):
    kind = FailureKind.CONFLICT


class KeyTakenError(StateError):
    kind = FailureKind.CONFLICT


class RunTakenOverError(StateError):
    kind = FailureKind.CANCELLED


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


class StatementError(QueryError):
    """`text` is a query that was typed; `diagnostics` are `tidegate.compiler.Diagnostic` values, at least one."""

    file = "query"
    """What stands in place of a file's name in their spans."""

    def __init__(self, text: str, diagnostics: Sequence[Any]) -> None:
        first = diagnostics[0]
        super().__init__(first.message, where="the query", remedy=first.suggestion)
        self.text = text
        self.diagnostics = tuple(diagnostics)


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


class ModelTimeoutError(ModelError):
    kind = FailureKind.TIMEOUT


class SparkDiedError(ModelError):
    pass


class PythonCodeError(ModelError):
    """`reason`: `exception`, or the limit that was reached (`memory`, `cpu_time`, `timeout`, …). `line`: of the
    project's file. `traceback`: begins at that file; it may quote any text that the code chose."""

    kind = FailureKind.QUERY_REJECTED

    def __init__(
        self,
        message: str,
        *,
        reason: str = "exception",
        line: int | None = None,
        traceback: str = "",
        where: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.reason = reason
        self.line = line
        self.traceback = traceback
        if reason in ("timeout", "cpu_time"):
            self.kind = FailureKind.TIMEOUT


class SandboxDiedError(ModelError):
    kind = FailureKind.TRANSIENT


class CircuitOpenError(TidegateError):
    """`service` was not called; it may be after `retry_after` seconds."""

    kind = FailureKind.QUOTA_EXCEEDED

    def __init__(self, message: str, *, service: str, retry_after: float, remedy: str | None = None) -> None:
        super().__init__(message, where=service, remedy=remedy)
        self.service = service
        self.retry_after = retry_after


class RunAbortedError(TidegateError):
    """`kind` differs from reason to reason."""

    def __init__(self, message: str, *, kind: FailureKind, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind


class HookError(RunAbortedError):
    """`hook` is the name of the one that failed, `kind` how."""

    def __init__(self, message: str, *, hook: str, kind: FailureKind, remedy: str | None = None) -> None:
        super().__init__(message, kind=kind, remedy=remedy)
        self.hook = hook


class BudgetError(RunAbortedError):
    pass


class RunInFlightError(TidegateError):
    kind = FailureKind.CONFLICT


class RunCancelledError(TidegateError):
    kind = FailureKind.CANCELLED
    exit_code = 130
