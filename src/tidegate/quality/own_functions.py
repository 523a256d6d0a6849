"""Functions of a project's own checks: what a function gives is a condition of rows.

Those that are trusted are called here, and each file of them is loaded once; the others are called elsewhere.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from tidegate.checks.check_values import Argument, CheckRule, ColumnName, FunctionRule, RowRule
from tidegate.errors import QueryError
from tidegate.names import quote
from tidegate.spark.spark_errors import read_failure

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["OutsideConditions", "OwnFunctions", "breaks", "with_conditions"]

_USERS = (Exception, SystemExit)
"""What user code may raise: it must fail only its own check."""


class OutsideConditions(Protocol):
    """Calls functions that are not trusted, outside of this process."""

    def condition(self, rule: FunctionRule, session: SparkSession) -> Column | None:
        """None where the function is trusted. Raises QueryError with its file and line."""
        ...


class OwnFunctions:
    """Those of one project during one run. Thread-safe. `root`: the project's folder. `outside`: None where all of
    them are trusted."""

    def __init__(self, root: Path, outside: OutsideConditions | None = None) -> None:
        self._root = root
        self._outside = outside
        self._loading = threading.Lock()
        self._functions: dict[tuple[str, str], Callable[..., object] | QueryError] = {}

    def condition(self, rule: FunctionRule, session: SparkSession) -> Column:
        """The Column that the function returns for its arguments. Raises QueryError with the function's file and
        line."""
        from pyspark.sql import Column

        outside = self._outside.condition(rule, session) if self._outside is not None else None
        if outside is not None:
            return outside
        function = self._function(rule)
        try:
            result = function(**{name: _passed(value) for name, value in rule.arguments})
        except _USERS as error:
            raise self._failure(rule, error) from error
        if not isinstance(result, Column):
            raise QueryError(f"{rule.name} gives {type(result).__name__}, not a Column", where=_begin(rule))
        return result

    def _function(self, rule: FunctionRule) -> Callable[..., object]:
        with self._loading:
            key = rule.file, rule.source
            if key not in self._functions:
                try:
                    self._functions[key] = self._load(rule)
                except _USERS as error:
                    self._functions[key] = self._failure(rule, error)
            function = self._functions[key]
        if isinstance(function, QueryError):
            raise QueryError(function.message, where=function.where)
        return function

    def _load(self, rule: FunctionRule) -> Callable[..., object]:
        """From the text that was compiled with the project, so that a change in between makes no other check."""
        module = ModuleType(f"tidegate_check_{rule.name}")
        module.__file__ = str(self._root / rule.file)
        code = compile(rule.source.removeprefix("\ufeff"), module.__file__, "exec", dont_inherit=True)
        # Classes look for their module by its name while they are made. Afterwards it has none, so that functions of
        # it go to Spark's workers as they are.
        sys.modules[module.__name__] = module
        try:
            exec(code, module.__dict__)
        finally:
            del sys.modules[module.__name__]
        function: Callable[..., object] = getattr(module, rule.name)
        return function

    def _failure(self, rule: FunctionRule, error: BaseException) -> QueryError:
        file, line, trace = str(self._root / rule.file), rule.line, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == file:
                line = trace.tb_lineno
            trace = trace.tb_next
        message = read_failure(error).message
        type_name = type(error).__name__
        return QueryError(f"{type_name}: {message}" if message else type_name, where=f"{rule.file}:{line}")


def breaks(frame: DataFrame, rule: RowRule | FunctionRule, functions: OwnFunctions) -> Column:
    """True for the rows of `frame` that break the rule, false for all others. Raises QueryError."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import BooleanType

    if isinstance(rule, RowRule):
        return f.coalesce(f.expr(f"({rule.violates})"), f.lit(False))
    condition = functions.condition(rule, frame.sparkSession)
    try:
        kind = frame.select(condition).schema.fields[0].dataType
        if not isinstance(kind, BooleanType):
            raise QueryError(f"{rule.name} gives {kind.simpleString()}, not true or false", where=_begin(rule))
        broken = f.coalesce(~condition, f.lit(False))
        # Raises for a generator or an aggregate: neither is a condition on one row.
        frame.select("*", broken)
    except QueryError:
        raise
    except Exception as error:
        raise QueryError(read_failure(error).message, where=_begin(rule)) from error
    return broken


@contextmanager
def with_conditions(
    session: SparkSession, relation: str, forms: Sequence[CheckRule], functions: OwnFunctions
) -> Iterator[tuple[str, list[CheckRule | QueryError]]]:
    """The relation with one more column for each function among the forms. Each such form becomes a rule about its
    column, or the error of the function."""
    if not any(isinstance(form, FunctionRule) for form in forms):
        yield relation, list(forms)
        return
    frame = session.sql(f"SELECT * FROM {relation}")
    columns: dict[str, Column] = {}
    rules: list[CheckRule | QueryError] = []
    for form in forms:
        if not isinstance(form, FunctionRule):
            rules.append(form)
            continue
        name = f"__own{len(columns)}"
        try:
            columns[name] = breaks(frame, form, functions)
            # A name alone in parentheses behind a table and WHERE would be the columns of an alias to Spark's parser.
            rules.append(RowRule(f"{name} = true", form.expected, form.shown))
        except QueryError as error:
            rules.append(error)
    view = f"tidegate_own_{uuid4().hex}"
    frame.withColumns(columns).createTempView(view)
    try:
        yield view, rules
    finally:
        session.catalog.dropTempView(view)


def _passed(value: Argument) -> object:
    from pyspark.sql import functions as f

    if isinstance(value, ColumnName):
        return f.col(quote(value.name))
    if isinstance(value, tuple):
        return [_passed(one) for one in value]
    return value


def _begin(rule: FunctionRule) -> str:
    return f"{rule.file}:{rule.line}"
