"""Rows of the project's table functions as views of a model's session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tidegate.compiler.compiled import FunctionRead
from tidegate.config import Settings
from tidegate.errors import PythonCodeError, QueryError
from tidegate.names import quote
from tidegate.project.lib_functions import LibFunction
from tidegate.python_models.api_without_inputs import api_without_inputs
from tidegate.python_models.arrow_rows import frame_of_file, frame_of_rows
from tidegate.python_models.code_runner import loaded_code
from tidegate.python_models.model_api import CallFacts
from tidegate.python_models.printed_lines import printing_to
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.python_models.sandbox.sandbox_job import RefuseCalls, SandboxJob
from tidegate.python_models.stored_rows import StoredRows
from tidegate.python_models.table_function import call_function, call_version
from tidegate.python_models.trusted_model import raised_in_process

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FunctionCalls", "FunctionViews"]


_LONGEST_VERSION = 1000


@dataclass(frozen=True, slots=True)
class FunctionCalls:
    """Of one run. `log`: takes what the code prints and logs."""

    settings: Settings
    functions: Mapping[str, LibFunction]
    sandbox: RunSandbox
    run_started_at: str
    vars: Mapping[str, Any]
    log: Callable[[str], None] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False

    def frame(self, read: FunctionRead, session: SparkSession, timeout: float | None = None) -> DataFrame:
        """Raises PythonCodeError and QueryError with the function's file and line."""
        function = self.functions[read.name.lower()]
        if self.settings.sandbox.is_trusted(function.file):
            frame = self._trusted_rows(function, read, session)
        else:
            frame = self._sandboxed_rows(function, read, session, timeout)
        return _as_declared(frame, function)

    def version(self, read: FunctionRead) -> str | None:
        """Which state of its data it gives; None where the function does not say."""
        function = self.functions[read.name.lower()]
        if not function.gives_version:
            return None
        if self.settings.sandbox.is_trusted(function.file):
            try:
                with self._loaded(function) as module:
                    return call_version(module.__dict__, dict(read.arguments))
            except (Exception, SystemExit) as error:
                raise raised_in_process(error, function.file, function.source) from error
        version = self._run(function, read, None, version=True).value
        if not isinstance(version, str) or len(version) > _LONGEST_VERSION:
            raise PythonCodeError("`version` returns no short text", where=function.file)
        return version

    @contextmanager
    def _loaded(self, function: LibFunction) -> Iterator[ModuleType]:
        with printing_to(self.log) as log:
            api = api_without_inputs(self._facts(function), log)
            with loaded_code(function.file, function.source, api, log) as module:
                yield module

    def _trusted_rows(self, function: LibFunction, read: FunctionRead, session: SparkSession) -> DataFrame:
        try:
            with self._loaded(function) as module:
                rows = call_function(module.__dict__, function.name, dict(read.arguments), _columns(function))
                where = f"{function.file}:{function.line}"
                return frame_of_rows(session, StoredRows(rows, where), where, self.settings.sandbox.local_rows)
        except (Exception, SystemExit) as error:
            if isinstance(error, QueryError) and error.where is not None:
                raise  # about its rows
            raise raised_in_process(error, function.file, function.source) from error

    def _sandboxed_rows(
        self, function: LibFunction, read: FunctionRead, session: SparkSession, timeout: float | None
    ) -> DataFrame:
        result = self._run(function, read, timeout)
        if result.arrow is None:
            raise PythonCodeError("what it returned is no table", where=function.file)
        where = f"{function.file}:{function.line}"
        return frame_of_file(session, result.arrow, where, self.settings.sandbox.local_rows)

    def _run(self, function: LibFunction, read: FunctionRead, timeout: float | None, *, version: bool = False) -> Any:
        values = {
            "name": function.name,
            "arguments": dict(read.arguments),
            "columns": _columns(function),
            "facts": self._facts(function).document(),
            "version": version,
        }
        return self.sandbox.get().run(
            SandboxJob("function", function.file, function.source, values),
            RefuseCalls(),
            on_log=self.log,
            timeout=None if timeout is None else timedelta(seconds=timeout),
            cancelled=self.cancelled,
        )

    def _facts(self, function: LibFunction) -> CallFacts:
        return CallFacts(
            model=f"{function.name}()",
            file=function.file,
            namespace=self.settings.project.namespace,
            run_started_at=self.run_started_at,
            vars=self.vars,
        )


@dataclass(slots=True)
class FunctionViews:
    """Of one try at one model: each call is made once, however often its rows are read."""

    calls: FunctionCalls
    session: SparkSession
    timeout: Callable[[], float | None] = lambda: None
    _views: dict[str, str] = field(default_factory=dict)

    def view(self, read: FunctionRead) -> str:
        """The name of the view, quoted."""
        if read.key not in self._views:
            name = f"__lib_{len(self._views)}"
            self.calls.frame(read, self.session, self.timeout()).createOrReplaceTempView(name)
            self._views[read.key] = quote(name)
        return self._views[read.key]


def _columns(function: LibFunction) -> list[str]:
    return [column.name for column in function.relation.columns]


def _as_declared(frame: DataFrame, function: LibFunction) -> DataFrame:
    """The columns that it declares, with their types, in their order."""
    columns = function.relation.columns
    if not columns:
        return frame
    given = {name.lower(): name for name in frame.columns}
    where = f"{function.file}:{function.line}"
    missing = [column.name for column in columns if column.name.lower() not in given]
    if missing:
        raise QueryError(
            f"{function.name} declares columns that its rows do not have: {', '.join(missing)}",
            where=where,
            remedy=f"They have {', '.join(frame.columns)}.",
        )
    declared = {column.name.lower() for column in columns}
    if extra := [name for key, name in given.items() if key not in declared]:
        raise QueryError(
            f"{function.name} gives columns that it does not declare: {', '.join(extra)}",
            where=where,
            remedy="Declare them with their types, or leave them out.",
        )
    return frame.selectExpr(
        *(f"CAST({quote(given[c.name.lower()])} AS {c.type.sql}) AS {quote(c.name)}" for c in columns)
    )
