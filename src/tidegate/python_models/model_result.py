"""Calls a Python model and gives the DataFrame of its result, from the sandbox or from Tidegate's own process."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from tidegate.compiler.python_call import PythonCall
from tidegate.config import Settings
from tidegate.errors import PythonCodeError, QueryError
from tidegate.python_models.arrow_rows import frame_of_file, frame_of_rows
from tidegate.python_models.model_api import CallFacts
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError, SandboxJob
from tidegate.python_models.stored_rows import StoredRows
from tidegate.python_models.trusted_model import trusted_result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.python_models.connect.plan_proxy import PlanProxy

__all__ = ["ModelCall", "ModelFrame", "called_model", "limited_log"]

_GLOBAL = "global_temp"
_TIME_ZONE = "spark.sql.session.timeZone"
_MOST_LINES = 1000
_GRACE = timedelta(milliseconds=300)
"""The model's time is over first, and its error is that of any model."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """`inputs`: by handle, DataFrames of `session`. `log`: takes what the code prints and logs. `timeout`: seconds that
    are left of the model's time."""

    call: PythonCall
    session: SparkSession
    inputs: Mapping[str, DataFrame]
    settings: Settings
    sandbox: RunSandbox
    log: Callable[[str], None]
    cancelled: Callable[[], bool] = lambda: False
    timeout: float | None = None

    @property
    def facts(self) -> CallFacts:
        values = self.call.values
        return CallFacts(
            model=self.call.table.short(self.settings.project.namespace),
            file=self.call.file,
            namespace=self.settings.project.namespace,
            strategy=self.call.strategy,
            handles=tuple(self.inputs),
            run_started_at=values.run_started_at,
            incremental=values.incremental,
            watermark_value=values.watermark_value,
            start_date=values.start_date,
            end_date=values.end_date,
            vars=values.vars,
        )


@dataclass(frozen=True, slots=True)
class ModelFrame:
    frame: DataFrame

    secrets: Mapping[str, str]
    """Names of views that no message may show, each with what people call it."""

    def redacted(self, text: str) -> str:
        return _redacted(text, self.secrets)


@contextmanager
def called_model(call: ModelCall) -> Iterator[ModelFrame]:
    """The result can be read until the end. Raises PythonCodeError and QueryError with the line of the file."""
    if call.settings.sandbox.is_trusted(call.call.file):
        limited = limited_log(call.log)
        returned = trusted_result(call.call, call.facts, call.session, call.inputs, call.settings, limited)
        if not isinstance(returned, tuple):
            yield ModelFrame(_one_name_each(returned, call.call.file), {})
            return
        rows, line = returned
        where = call.call.file if line is None else f"{call.call.file}:{line}"
        frame = frame_of_rows(call.session, StoredRows(rows, where), where, call.settings.sandbox.local_rows)
        yield ModelFrame(_one_name_each(frame, where), {})
        return
    with _sandboxed(call, call.log) as result:  # the sandbox bounds its lines itself
        yield result


@contextmanager
def _sandboxed(call: ModelCall, log: Callable[[str], None]) -> Iterator[ModelFrame]:
    # Only here: projects without sandboxed models import no Connect client.
    from tidegate.python_models.connect.plan_proxy import PlanProxy
    from tidegate.python_models.walled_functions import with_walled_functions
    from tidegate.spark.connect_server import connect_server

    session = call.session
    section = with_walled_functions(session, call.settings.sandbox)
    with ExitStack() as stack:
        views: dict[str, str] = {}
        for handle, frame in call.inputs.items():
            views[handle] = f"tidegate_{secrets.token_hex(16)}"
            frame.createGlobalTempView(views[handle])
            stack.callback(_drop, session, views[handle])
        proxy = PlanProxy(
            connect_server(session),
            views,
            section,
            namespace=call.settings.project.namespace,
            functions=call.settings.spark.function_names,
            conf={_TIME_ZONE: session.conf.get(_TIME_ZONE, "UTC") or "UTC"},
        )
        stack.callback(proxy.close)
        names = {view: handle.partition(" ")[2] or handle for handle, view in views.items()}
        try:
            result = call.sandbox.get().run(
                SandboxJob("model", call.call.file, call.call.source, call.facts.document()),
                proxy,
                on_log=log,
                timeout=None if call.timeout is None else timedelta(seconds=call.timeout) + _GRACE,
                cancelled=call.cancelled,
            )
        except PythonCodeError as error:
            error.message = _redacted(error.message, names)
            raise
        if result.kind == "plan":
            view = _registered(proxy, result.plan, call, names)
            names[view] = "the result"
            frame = session.table(f"{_GLOBAL}.{view}")
            yield ModelFrame(_one_name_each(frame, call.call.file), names)
            return
        if result.arrow is None:
            raise PythonCodeError("what the model returned is no table", where=call.call.file)
        frame = frame_of_file(session, result.arrow, call.call.file, section.local_rows)
        yield ModelFrame(_one_name_each(frame, call.call.file), names)


def _redacted(text: str, names: Mapping[str, str]) -> str:
    for secret, name in names.items():
        for written in (f"`{_GLOBAL}`.`{secret}`", f"{_GLOBAL}.{secret}", secret):
            text = text.replace(written, name)
    return text


def _registered(proxy: PlanProxy, plan: bytes, call: ModelCall, names: Mapping[str, str]) -> str:
    try:
        return proxy.register(plan)
    except CallRefusedError as error:
        message = _redacted(error.details, names)
        raise PythonCodeError(message, where=call.call.file) from error


def _one_name_each(frame: DataFrame, where: str) -> DataFrame:
    seen: set[str] = set()
    for name in frame.columns:
        if name.lower() in seen:
            raise QueryError(
                f"the result has two columns '{name}'",
                where=where,
                remedy="Rename or drop one of them; capital letters do not count. A join by the name of the column,"
                " join(other, 'id'), gives it once.",
            )
        seen.add(name.lower())
    return frame


def _drop(session: SparkSession, view: str) -> None:
    with suppress(Exception):  # the session may be gone, and its views with it
        session.catalog.dropGlobalTempView(view)


def limited_log(log: Callable[[str], None]) -> Callable[[str], None]:
    """The log of a run is for people."""
    lines = 0

    def limited(message: str) -> None:
        nonlocal lines
        lines += 1
        if lines <= _MOST_LINES:
            log(message)
        elif lines == _MOST_LINES + 1:
            log(f"more than {_MOST_LINES} lines: the others are left out")

    return limited
