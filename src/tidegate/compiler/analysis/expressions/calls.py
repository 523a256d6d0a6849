"""Calls of functions: plain ones, aggregates, windows, lambdas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.coercion import is_orderable
from tidegate.compiler.analysis.expressions.nested import field_of
from tidegate.compiler.analysis.expressions.typed import UNKNOWN, ExpressionScope, Rule, Typed, mismatch, type_of
from tidegate.compiler.analysis.functions.function import WRITTEN_AS, Function, FunctionCall
from tidegate.compiler.analysis.functions.lookup import FUNCTIONS, NAMES, function_of
from tidegate.compiler.analysis.functions.parser_classes import CLASSES
from tidegate.compiler.analysis.functions.row_functions import OUTPUTS
from tidegate.compiler.analysis.functions.times import extracted, has_parts
from tidegate.compiler.analysis.query_tokens import wrong_count
from tidegate.datatypes import BOOLEAN, Column
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["CALLS", "generator_columns", "with_argument_check", "with_known_name"]


def _is_known(name: str, node: Any, scope: ExpressionScope, meant: str | None = None) -> bool:
    """Whether Spark has a function of this name, else it is reported. `meant`: Spark's name for it, as a suggestion."""
    folded = name.lower()
    if folded in NAMES:
        return True
    own: frozenset[str] = getattr(scope, "own_functions", frozenset())
    if name not in own and folded not in own:
        near = (meant,) if meant is not None else nearest(folded, [*NAMES, *own])
        scope.report("UnknownFunction", f"unknown function '{name}'", node, did_you_mean(near))
    return False


def with_known_name(rule: Rule, meant: str) -> Rule:
    """The rule, for a class that the parser also uses for functions of other systems: their names are reported."""

    def check(node: Any, scope: ExpressionScope) -> Typed:
        written = node.meta.get(WRITTEN_AS)
        if written is None or _is_known(str(written), node, scope, meant):
            return rule(node, scope)
        _arguments(list(node.iter_expressions()), scope)
        return UNKNOWN

    return check


class _LambdaScope:
    """What the body of a lambda sees: its variables, then what is around it."""

    __slots__ = ("around", "own_functions", "report", "subquery", "variables", "width", "written")

    variables: dict[str, Typed]

    def __init__(self, around: ExpressionScope, variables: dict[str, Typed]) -> None:
        self.around = around
        self.subquery, self.width = around.subquery, around.width
        self.written, self.report = around.written, around.report
        self.own_functions: frozenset[str] = getattr(around, "own_functions", frozenset())
        outer: dict[str, Typed] = around.variables if isinstance(around, _LambdaScope) else {}
        self.variables = {**outer, **variables}

    def column(self, node: Any) -> Typed:
        """The parser treats a variable written in another case as a column."""
        parts = node.parts if type(node) is exp.Column else []
        if parts and (typed := self.variables.get(parts[0].name.lower())) is not None:
            for part in parts[1:]:
                typed = field_of(typed, part.name) or UNKNOWN
            return typed
        return self.around.column(node)


def _identifier(node: Any, scope: ExpressionScope) -> Typed:
    """Inside a lambda its variables are bare names."""
    return scope.variables.get(node.name.lower(), UNKNOWN) if isinstance(scope, _LambdaScope) else UNKNOWN


def _body(node: Any, scope: ExpressionScope, arguments: Sequence[Typed]) -> Typed:
    """The type of a lambda's body when its variables have these types."""
    if type(node) is not exp.Lambda:
        return type_of(node, scope)
    names = [variable.name.lower() for variable in node.expressions]
    variables = {name: arguments[i] if i < len(arguments) else UNKNOWN for i, name in enumerate(names)}
    return type_of(node.this, _LambdaScope(scope, variables))


def _called(node: Any, scope: ExpressionScope) -> Typed:
    name, take = CLASSES[type(node)]
    written = node.meta.get(WRITTEN_AS)
    nodes = [argument for argument in take(node) if argument is not None]
    if written is not None and not _is_known(str(written), node, scope, name):
        _arguments(nodes, scope)
        return UNKNOWN
    function = FUNCTIONS[name]
    if not _is_rightly_written(node, scope) or not _has_enough(function, nodes, node, scope):
        _arguments(nodes, scope)
        return function.result_without_arguments
    return _apply(function, nodes, node, scope)


_READ_APART = frozenset({exp.ArgMax, exp.ArgMin, exp.Ceil, exp.Floor, exp.Quantile, exp.Substring, exp.Transform})


def _has_enough(function: Function, nodes: list[Any], node: Any, scope: ExpressionScope) -> bool:
    """Whether no argument is missing, for calls with a syntax of their own in the parser."""
    if type(node) not in _READ_APART or len(nodes) >= function.least or any(argument.is_star for argument in nodes):
        return True
    scope.report("WrongArguments", f"{function.name} takes {function.arity_text}, not {len(nodes)}", node)
    return False


def _is_rightly_written(node: Any, scope: ExpressionScope) -> bool:
    """Whether the text has the right number of arguments: the parser may have dropped some."""
    call = scope.written(node)
    if call is None or (message := wrong_count(call)) is None:
        return True
    if any(type(child) is exp.Kwarg or child.is_star for child in node.iter_expressions()):
        return True
    own: frozenset[str] = getattr(scope, "own_functions", frozenset())
    if call.name in own or call.name.lower() in own:
        return True
    scope.report("WrongArguments", message, node)
    return False


def with_argument_check(rule: Rule) -> Rule:
    """The rule, for a class that the parser uses for calls and for other syntax: calls are checked by the text."""

    def check(node: Any, scope: ExpressionScope) -> Typed:
        if _is_rightly_written(node, scope):
            return rule(node, scope)
        _arguments(list(node.iter_expressions()), scope)
        return UNKNOWN

    return check


def _anonymous(node: Any, scope: ExpressionScope) -> Typed:
    name = str(node.name)
    function = FUNCTIONS.get(name.lower())
    nodes = node.expressions
    if function is None:
        _is_known(name, node, scope)
        _arguments(nodes, scope)
        return UNKNOWN
    if not _has_right_count(function, nodes):
        scope.report("WrongArguments", f"{function.name} takes {function.arity_text}, not {len(nodes)}", node)
        _arguments(nodes, scope)
        return function.result_without_arguments
    return _apply(function, nodes, node, scope)


def _foreign(node: Any, scope: ExpressionScope) -> Typed:
    """A function of another system: the parser knows many that Spark does not have.

    Only a call has a position; operators of other systems are left to Spark.
    """
    if "start" in node.meta:
        _is_known(str(node.meta.get(WRITTEN_AS) or node.sql_name()), node, scope)
    _arguments(list(node.iter_expressions()), scope)
    return UNKNOWN


def _has_right_count(function: Function, nodes: list[Any]) -> bool:
    """A star stands for any number of arguments, and some that are not named have defaults."""
    return function.accepts_count(len(nodes)) or any(type(node) is exp.Kwarg or node.is_star for node in nodes)


def _arguments(nodes: Sequence[Any], scope: ExpressionScope) -> list[Typed]:
    return [UNKNOWN if type(node) is exp.Lambda else type_of(node, scope) for node in nodes]


def _apply(function: Function, nodes: Sequence[Any], node: Any, scope: ExpressionScope) -> Typed:
    plain = _plain(nodes, scope)
    if plain is None:
        _arguments(nodes, scope)
        return function.result_without_arguments
    call = FunctionCall(function.name, node, plain, _arguments(plain, scope), scope, _body)
    return function.typed(call)


def _plain(nodes: Sequence[Any], scope: ExpressionScope) -> Sequence[Any] | None:
    """The arguments without DISTINCT and ORDER BY; None where several are given by name."""
    for node in nodes:
        if type(node) in _AROUND_ARGUMENTS:
            break
    else:
        return nodes
    plain: list[Any] = []
    for node in nodes:
        what = type(node)
        if what is exp.Kwarg:
            return [node.expression] if len(nodes) == 1 else None
        if what is exp.Distinct:
            plain += node.expressions
        elif what is exp.Order:
            for term in node.expressions:
                type_of(term, scope)
            inner = node.this
            plain += inner.expressions if type(inner) is exp.Distinct else [inner]
        elif what in (exp.IgnoreNulls, exp.RespectNulls):
            plain.append(node.this)
        else:
            plain.append(node)
    return plain


_AROUND_ARGUMENTS = frozenset({exp.Kwarg, exp.Distinct, exp.Order, exp.IgnoreNulls, exp.RespectNulls})


def _call_of(node: Any, scope: ExpressionScope) -> FunctionCall | None:
    """A call with the types of its arguments; None where the node calls no function of Spark."""
    if type(node) is exp.Anonymous:
        name, nodes = node.name.lower(), node.expressions
    elif type(node) in CLASSES:
        name, take = CLASSES[type(node)]
        nodes = take(node)
    else:
        return None
    plain = _plain(nodes, scope)
    if plain is None:
        _arguments(nodes, scope)
        return FunctionCall(name, node, [], [], scope, _body)
    return FunctionCall(name, node, plain, _arguments(plain, scope), scope, _body)


def generator_columns(node: Any, scope: ExpressionScope) -> tuple[Column, ...] | None:
    """The columns of a generator or of a table function in FROM; None where the node is neither or they are unknown."""
    function = function_of(node)
    output = OUTPUTS.get(function.name) if function is not None else None
    if output is None:
        return None
    call = _call_of(node, scope)
    return output(call) if call is not None and function is not None and function.accepts(call) else None


def _any(node: Any, scope: ExpressionScope) -> Typed:
    """`any(x)` as a function; `LIKE ANY` is handled with LIKE."""
    inner = node.this
    if isinstance(inner, exp.Query):
        return scope.subquery(inner)
    return _apply(FUNCTIONS["any"], [inner], node, scope)


def _window(node: Any, scope: ExpressionScope) -> Typed:
    order = node.args.get("order")
    for term in (*(node.args.get("partition_by") or ()), *(order.expressions if order is not None else ())):
        kind = type_of(term, scope).type
        if not is_orderable(kind):
            mismatch(term, scope, f"the rows of a window cannot be ordered by {kind}")
    return type_of(node.this, scope)


def _filter(node: Any, scope: ExpressionScope) -> Typed:
    condition = node.expression
    typed = type_of(condition.this if type(condition) is exp.Where else condition, scope)
    if typed.type.kind not in ("boolean", "?", "void"):
        mismatch(condition, scope, f"FILTER takes a boolean, and this is {typed.type}")
    return type_of(node.this, scope)


def _within_group(node: Any, scope: ExpressionScope) -> Typed:
    ordered = [type_of(term, scope) for term in node.expression.expressions]
    inner = node.this
    known = CLASSES.get(type(inner))
    if known is None or len(ordered) != 1:
        return type_of(inner, scope)
    name, take = known
    nodes = [node.expression.expressions[0], *take(inner)]
    if name in ("mode", "percentile_cont", "percentile_disc"):
        return _apply(FUNCTIONS[name], nodes, node, scope)
    return type_of(inner, scope)


def _extract(node: Any, scope: ExpressionScope) -> Typed:
    value = type_of(node.expression, scope)
    if not has_parts(value.type):
        return mismatch(node, scope, f"EXTRACT takes a date, a time or an interval, not {value.type}")
    return Typed(extracted(node.this.name, value.type), value.nullable)


def _date_diff(node: Any, scope: ExpressionScope) -> Typed:
    sides = [side.this if type(side) is exp.TsOrDsToDate else side for side in (node.this, node.expression)]
    name = "datediff" if node.args.get("unit") is None else "timestampdiff"
    return _apply(FUNCTIONS[name], sides, node, scope)


def _date_format(node: Any, scope: ExpressionScope) -> Typed:
    inner = node.this
    moment = inner.this if type(inner) is exp.TimeStrToTime else inner
    return _apply(FUNCTIONS["date_format"], [moment, node.args.get("format")], node, scope)


def _parse_json(node: Any, scope: ExpressionScope) -> Typed:
    name = "try_parse_json" if node.args.get("safe") else "parse_json"
    return _apply(FUNCTIONS[name], [node.this], node, scope)


def _exists(node: Any, scope: ExpressionScope) -> Typed:
    if isinstance(node.this, exp.Query):
        scope.subquery(node.this)
        return Typed(BOOLEAN, False)
    if not _is_rightly_written(node, scope):
        return FUNCTIONS["exists"].result_without_arguments
    return _apply(FUNCTIONS["exists"], [node.this, node.expression], node, scope)


def _shift(node: Any, scope: ExpressionScope) -> Typed:
    return _apply(FUNCTIONS["shiftleft"], [node.this, node.expression], node, scope)


CALLS: dict[type, Rule] = {
    **dict.fromkeys(CLASSES, _called),
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), _shift),
    exp.Anonymous: _anonymous,
    exp.Any: _any,
    exp.DateDiff: with_known_name(_date_diff, "datediff"),
    exp.Exists: _exists,
    exp.Extract: _extract,
    exp.Filter: _filter,
    exp.Func: _foreign,
    exp.Identifier: _identifier,
    exp.ParseJSON: _parse_json,
    exp.TimeToStr: _date_format,
    exp.Window: _window,
    exp.WithinGroup: _within_group,
}
