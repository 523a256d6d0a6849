"""Conditions of the project's own checks that are not trusted: their functions are called in the sandbox, and what they
return is checked as a model's plans are, before Spark sees it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.checks.check_values import FunctionRule
from tidegate.config import Settings
from tidegate.errors import PythonCodeError, QueryError, SandboxDiedError, SetupError, TidegateError
from tidegate.python_models.check_arguments import argument_as_json
from tidegate.python_models.model_api import CallFacts
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError, SandboxJob
from tidegate.spark.spark_errors import read_failure

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

__all__ = ["SandboxedConditions"]


@dataclass(slots=True)
class SandboxedConditions:
    """Of one run. Thread-safe; each function is called once for its arguments."""

    settings: Settings
    sandbox: RunSandbox
    run_started_at: str
    cancelled: Callable[[], bool] = lambda: False
    _expressions: dict[str, bytes | QueryError] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def condition(self, rule: FunctionRule, session: SparkSession) -> Column | None:
        """None where the file is trusted. Raises QueryError with the function's file and line."""
        if self.settings.sandbox.is_trusted(rule.file):
            return None
        from tidegate.spark.connect_expressions import column_of

        key = repr((rule.name, rule.file, rule.source, rule.arguments))
        with self._lock:
            if key not in self._expressions:
                self._expressions[key] = self._expression(rule, session)
            expression = self._expressions[key]
        if isinstance(expression, QueryError):
            raise QueryError(expression.message, where=expression.where, remedy=expression.remedy)
        try:
            return column_of(session, expression)
        except TidegateError:
            raise
        except Exception as error:
            raise QueryError(read_failure(error).message, where=f"{rule.file}:{rule.line}") from error

    def _expression(self, rule: FunctionRule, session: SparkSession) -> bytes | QueryError:
        # Only here: projects without such checks import no Connect client.
        from tidegate.python_models.connect.plan_proxy import PlanProxy
        from tidegate.python_models.walled_functions import with_walled_functions
        from tidegate.spark.connect_server import connect_server

        begin = f"{rule.file}:{rule.line}"
        facts = CallFacts(f"{rule.name}()", rule.file, self.settings.project.namespace, self.run_started_at)
        values = {
            "name": rule.name,
            "arguments": {word: argument_as_json(value) for word, value in rule.arguments},
            "facts": facts.document(),
        }
        try:
            section = with_walled_functions(session, self.settings.sandbox)
            functions = self.settings.spark.function_names
            proxy = PlanProxy(connect_server(session), {}, section, functions=functions)
            try:
                job = SandboxJob("check", rule.file, rule.source, values)
                result = self.sandbox.get().run(job, proxy, cancelled=self.cancelled)
                return proxy.checked_expression(result.plan)
            finally:
                proxy.close()
        except (PythonCodeError, SandboxDiedError, SetupError) as error:
            return QueryError(error.message, where=error.where or begin, remedy=error.remedy)
        except CallRefusedError as error:
            return QueryError(f"{rule.name}: {error.details}", where=begin)
