"""What the values inside allowed messages may be: names, texts, numbers and bytes. Some are changed on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tidegate.compiler.analysis.functions.lookup import WITH_OPTIONS
from tidegate.config import SandboxSection
from tidegate.python_models.connect.granted_views import GrantedViews
from tidegate.python_models.connect.local_rows import LocalRows
from tidegate.python_models.connect.plan_functions import SCHEMA_FUNCTIONS, TABLE_FUNCTIONS, check_function, refusal
from tidegate.python_models.connect.plan_partitions import PARTITION_HINTS
from tidegate.python_models.connect.plan_schemas import check_ddl, safe_metadata, safe_schema
from tidegate.python_models.connect.plan_sql import SqlTexts
from tidegate.python_models.untrusted_arrow import rewritten

__all__ = ["MessageValues"]

_HINTS = frozenset(
    """
    broadcast broadcastjoin mapjoin merge mergejoin shuffle_merge shuffle_hash shuffle_replicate_nl
    """.split()  # noqa: SIM905
)
_PYTHON_FUNCTIONS = frozenset({100, 101, *range(200, 208), 209, 210, 215, 216, *range(250, 254), *range(300, 303)})
"""The kinds of Python functions (pyspark.util.PythonEvalType) without state between groups."""

_MOST_SHOWN, _MOST_TAIL = 10_000, 1_000_000
_PYTHON_VERSION = re.compile(r"\d+\.\d+")

ValueCheck = Callable[[Any, frozenset[str]], None]
"""Of a message, and the names of DataFrames that SQL may use beside it, in lower case."""


class MessageValues:
    """`declared`: functions of the project, in lower case."""

    def __init__(self, views: GrantedViews, section: SandboxSection, declared: frozenset[str], rows: LocalRows) -> None:
        self._with_functions = section.udfs == "sandbox"
        self._declared = declared
        self._rows = rows
        self._sql = SqlTexts(views, declared)
        self.checks: Mapping[str, ValueCheck] = {
            "SQL": self._query,
            "LocalRelation": self._local_relation,
            "Range": self._partitions,
            "Repartition": self._partitions,
            "RepartitionByExpression": self._partitions,
            "ShowString": _shown_rows,
            "HtmlString": _shown_rows,
            "Tail": _tail,
            "Hint": self._hint,
            "UnresolvedTableValuedFunction": self._table_function,
            "CommonInlineUserDefinedTableFunction": self._python_function,
            "CommonInlineUserDefinedFunction": self._python_function,
            "PythonUDF": _kind_of_function,
            "PythonUDTF": _kind_of_table_function,
            "Expression.ExpressionString": self._expression_text,
            "Expression.UnresolvedFunction": self._function,
            "CallFunction": self._function,
            "Expression.Cast": _cast,
            "Expression.Alias": _metadata,
            "DataType.StructField": _metadata,
            "DataType.Unparsed": _type_text,
            "AnalyzePlanRequest.DDLParse": _ddl_text,
            "AnalyzePlanRequest.JsonToDDL": _json_schema,
        }

    def begin_plan(self) -> None:
        self._sql.begin_plan()

    def _query(self, message: Any, frames: frozenset[str]) -> None:
        message.query = self._sql.query(message.query, frames)

    def _expression_text(self, message: Any, frames: frozenset[str]) -> None:
        message.expression = self._sql.expression(message.expression, frames)

    def _local_relation(self, message: Any, frames: frozenset[str]) -> None:
        if message.HasField("data"):
            try:
                data, rows = rewritten(message.data)
            except ValueError as error:
                raise refusal(f"the rows that the model makes cannot be read: {error}") from error
            self._rows.make(data, rows)
            message.data = data
        if message.HasField("schema"):
            message.schema = safe_schema(message.schema)

    def _python_function(self, message: Any, frames: frozenset[str]) -> None:
        if not self._with_functions:
            raise refusal(
                'Python functions are refused by udfs = "refuse" in [sandbox]: use the functions of Spark, '
                'or set udfs = "sandbox"'
            )
        if message.WhichOneof("function") is None:
            raise refusal("a function of the plan is empty")

    def _partitions(self, message: Any, frames: frozenset[str]) -> None:
        self._sql.partitions.ask(message.num_partitions)

    def _hint(self, message: Any, frames: frozenset[str]) -> None:
        if message.name.lower() not in _HINTS | PARTITION_HINTS:
            raise refusal(f"the hint {message.name[:100]!r} is not known; hints of joins and of partitions are")
        self._sql.partitions.ask_hint(message)

    def _table_function(self, message: Any, frames: frozenset[str]) -> None:
        if message.function_name.lower() not in TABLE_FUNCTIONS or not message.function_name.isascii():
            raise refusal(f"the table function {message.function_name[:100]!r} is closed to Python models")
        if message.function_name.lower() == "range":
            self._sql.partitions.ask_range(message.arguments)

    def _function(self, message: Any, frames: frozenset[str]) -> None:
        internal = message.DESCRIPTOR.name == "UnresolvedFunction" and message.is_internal
        name = check_function(message.function_name, self._declared, internal=internal)
        if name in SCHEMA_FUNCTIONS or name in WITH_OPTIONS:
            first = message.arguments[0] if message.arguments else None
            if first is not None and first.WhichOneof("expr_type") == "named_argument_expression":
                raise refusal(f"{name} takes its arguments by place")
            for argument in message.arguments[1:]:
                _check_schema_or_options(argument, name)


def _check_schema_or_options(argument: Any, function: str) -> None:
    """A text, options as texts, or the schema of a text: nothing that Spark would compute first."""
    if argument.WhichOneof("expr_type") == "literal" and argument.literal.WhichOneof("literal_type") == "string":
        argument.literal.string = safe_schema(argument.literal.string)
        return
    if argument.WhichOneof("expr_type") == "unresolved_function":
        call, name = argument.unresolved_function, argument.unresolved_function.function_name.lower()
        texts = [_text(value) for value in call.arguments]
        plain = not call.is_internal and all(text is not None for text in texts)
        if plain and name == "map":
            forbidden = WITH_OPTIONS.get(function)
            if any((text or "").strip().lower() == forbidden for text in texts[::2]):
                raise refusal(f"the option {forbidden} of {function} names a file, and is closed to Python models")
            return
        if plain and name in ("schema_of_json", "schema_of_csv", "schema_of_xml") and len(texts) == 1:
            return
    raise refusal(f"the schema and the options of {function} must be plain texts: {function}(text, 'id bigint')")


def _text(expression: Any) -> str | None:
    if expression.WhichOneof("expr_type") != "literal" or expression.literal.WhichOneof("literal_type") != "string":
        return None
    return str(expression.literal.string)


def _kind_of_function(message: Any, frames: frozenset[str]) -> None:
    if message.eval_type not in _PYTHON_FUNCTIONS:
        raise refusal("a Python function is of a kind that is closed to Python models")
    if not _PYTHON_VERSION.fullmatch(message.python_ver):
        raise refusal("a Python function names no version of Python")


def _kind_of_table_function(message: Any, frames: frozenset[str]) -> None:
    _kind_of_function(message, frames)
    if not message.HasField("return_type"):
        # Its answer would hold expressions of SQL and classes of types, which Spark resolves unseen by any check.
        raise refusal(
            "a table function with a method `analyze` is closed to Python models; "
            'say what it returns: @udtf(returnType="id bigint, name string")'
        )


def _shown_rows(message: Any, frames: frozenset[str]) -> None:
    if message.num_rows > _MOST_SHOWN:
        raise refusal(f"show() shows at most {_MOST_SHOWN} rows")


def _tail(message: Any, frames: frozenset[str]) -> None:
    if message.limit > _MOST_TAIL:
        raise refusal(f"tail() takes at most {_MOST_TAIL} rows")


def _cast(message: Any, frames: frozenset[str]) -> None:
    check_ddl(message.type_str)


def _metadata(message: Any, frames: frozenset[str]) -> None:
    if message.HasField("metadata"):
        safe = safe_metadata(message.metadata)
        if safe:
            message.metadata = safe
        else:
            message.ClearField("metadata")


def _type_text(message: Any, frames: frozenset[str]) -> None:
    check_ddl(message.data_type_string)


def _ddl_text(message: Any, frames: frozenset[str]) -> None:
    check_ddl(message.ddl_string)


def _json_schema(message: Any, frames: frozenset[str]) -> None:
    message.json_string = safe_schema(message.json_string)
