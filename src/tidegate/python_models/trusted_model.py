"""A trusted Python model: its code runs in this process, over DataFrames of the model's own session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tidegate.compiler.python_call import PythonCall
from tidegate.config import Settings
from tidegate.errors import FailureKind, PythonCodeError, QueryError
from tidegate.python_models.code_runner import call_model, line_of, loaded_code
from tidegate.python_models.connect.granted_views import GrantedViews
from tidegate.python_models.connect.plan_sql import SqlTexts
from tidegate.python_models.model_api import CallFacts, ModelApi
from tidegate.python_models.printed_lines import printing_to
from tidegate.python_models.returned_value import is_spark_frame, rows_of
from tidegate.python_models.sandbox.child_failure import describe_failure, show_source
from tidegate.python_models.sandbox.job_failure import raised_by
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError, SandboxJob
from tidegate.spark.session import as_active_session
from tidegate.spark.spark_errors import read_failure

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["raised_in_process", "trusted_result"]


def trusted_result(
    call: PythonCall,
    facts: CallFacts,
    session: SparkSession,
    inputs: Mapping[str, DataFrame],
    settings: Settings,
    log: Callable[[str], None],
) -> DataFrame | tuple[pyarrow.RecordBatchReader, int | None]:
    """A DataFrame, or rows and the line where the model begins."""
    with printing_to(log) as own_log:
        api = ModelApi(facts, _ClassicPort(session, inputs, settings, own_log))
        try:
            with as_active_session(session), loaded_code(call.file, call.source, api, own_log) as module:
                value = call_model(module, api)
                if is_spark_frame(value):
                    return _of_session(value, session)
                line = line_of(module.__dict__.get("model"))
                return rows_of(value, line), line
        except (Exception, SystemExit) as error:
            raise raised_in_process(error, call.file, call.source) from error


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
        """By the rules of the sandbox, so that a model means the same in both."""
        views = {handle: f"trusted_{uuid4().hex}" for handle in self._inputs}
        granted = GrantedViews(views, self._settings.project.namespace)
        try:
            sql = SqlTexts(granted, self._settings.spark.function_names).query(text, frozenset())
        except CallRefusedError as error:
            raise QueryError(error.details) from None
        used = {handle: view for handle, view in views.items() if view in sql}
        try:
            for handle, view in used.items():
                self._inputs[handle].createGlobalTempView(view)
            return _analyzed(self._session.sql(sql))
        finally:
            for view in used.values():
                self._session.catalog.dropGlobalTempView(view)


def _of_session(value: Any, session: SparkSession) -> DataFrame:
    """A frame that the code took from another session of this process is one of the model's."""
    if value.sparkSession is session or getattr(value.sparkSession, "_jsparkSession", None) == session._jsparkSession:
        frame: DataFrame = value
        return frame
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

    if not isinstance(value, ClassicFrame):
        raise PythonCodeError("the DataFrame belongs to another Spark than this run's")
    view = f"tidegate_{uuid4().hex}"
    value.createGlobalTempView(view)
    try:
        return _analyzed(session.table(f"global_temp.{view}"))
    finally:
        session.catalog.dropGlobalTempView(view)


def _analyzed(frame: DataFrame) -> DataFrame:
    """Its rows by the views as they are now. What is written as it is would be analysed again, without them."""
    return frame.select("*")


def raised_in_process(error: BaseException, file: str, source: str) -> PythonCodeError:
    """What code of the project raised, as the sandbox reports it."""
    job = SandboxJob("model", file, source)
    show_source(job)
    failure = raised_by(job, describe_failure(error, job))
    if isinstance(error, Exception) and type(error).__module__.startswith(("pyspark.", "py4j.")):
        read = read_failure(error)
        failure.message, failure.remedy, failure.retry_after = read.message, read.remedy, read.retry_after
        if read.kind is not FailureKind.UNKNOWN:
            failure.kind = read.kind
    return failure
