"""A trusted Python model: its code runs in this process, over DataFrames of the model's own session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tidegate.compiler.python_call import PythonCall
from tidegate.config import Settings
from tidegate.errors import FailureKind, PythonCodeError
from tidegate.python_models.code_runner import call_model, facts_of_failure, line_of, loaded_code
from tidegate.python_models.granted_sql import over_grants
from tidegate.python_models.model_api import CallFacts, ModelApi
from tidegate.python_models.returned_value import is_spark_frame, rows_of
from tidegate.spark.spark_errors import read_failure

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["trusted_result"]


def trusted_result(
    call: PythonCall,
    facts: CallFacts,
    session: SparkSession,
    inputs: Mapping[str, DataFrame],
    settings: Settings,
    log: Callable[[str], None],
) -> DataFrame | tuple[pyarrow.RecordBatchReader, int | None]:
    """A DataFrame, or rows and the line where the model begins."""
    api = ModelApi(facts, _ClassicPort(session, inputs, settings, log))
    try:
        with loaded_code(call.file, call.source, api, log) as module:
            value = call_model(module, api)
            if is_spark_frame(value):
                return _of_session(value, session)
            line = line_of(module.__dict__.get("model"))
            return rows_of(value, line), line
    except (Exception, SystemExit) as error:
        raise _failure(error, call) from error


class _ClassicPort:
    def __init__(
        self,
        session: SparkSession,
        inputs: Mapping[str, DataFrame],
        settings: Settings,
        log: Callable[[str], None],
    ) -> None:
        self._session = session
        self._inputs = inputs
        self._settings = settings
        self.log = log

    def frame(self, handle: str) -> DataFrame:
        return self._inputs[handle]

    def sql(self, text: str) -> DataFrame:
        views: dict[str, str] = {}

        def view(handle: str) -> str:
            if handle not in views:
                views[handle] = f"__tidegate_sql_{uuid4().hex}"
                self._inputs[handle].createTempView(views[handle])
            return views[handle]

        project, functions = self._settings.project, self._settings.spark.function_names
        sql = over_grants(text, self._inputs, project.namespace, functions, view)
        try:
            return self._session.sql(sql)
        finally:
            for name in views.values():
                self._session.catalog.dropTempView(name)


def _of_session(value: Any, session: SparkSession) -> DataFrame:
    """A frame that the code took from another session of this process is one of the model's."""
    if value.sparkSession is session:
        frame: DataFrame = value
        return frame
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

    if not isinstance(value, ClassicFrame):
        raise PythonCodeError("the DataFrame belongs to another Spark than this run's")
    view = f"tidegate_{uuid4().hex}"
    value.createGlobalTempView(view)
    try:
        return session.table(f"global_temp.{view}")
    finally:
        session.catalog.dropGlobalTempView(view)


def _failure(error: BaseException, call: PythonCall) -> PythonCodeError:
    facts = facts_of_failure(error, call.file, call.source)
    message = facts.message
    failure = PythonCodeError(
        message,
        line=facts.line,
        traceback=facts.traceback,
        where=f"{call.file}:{facts.line}" if facts.line else call.file,
        remedy=facts.remedy,
    )
    if isinstance(error, Exception) and type(error).__module__.startswith(("pyspark.", "py4j.")):
        read = read_failure(error)
        failure.message, failure.remedy, failure.retry_after = read.message, read.remedy, read.retry_after
        if read.kind is not FailureKind.UNKNOWN:
            failure.kind = read.kind
    return failure
