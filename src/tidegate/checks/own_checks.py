"""A project's own checks: `checks/<name>.sql` is a condition or a query with places for the arguments of a call,
`checks/<name>.py` a function."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tidegate.checks.check_kinds import ABOUT, CheckKind, OwnCheckError
from tidegate.checks.check_parameters import Arguments, Parameter, ParameterKind, items
from tidegate.checks.check_values import Argument, CheckRule, ColumnName, FunctionRule, QueryRule, RowRule, Stage
from tidegate.checks.parsing import argument_text
from tidegate.checks.rule_forms import plain
from tidegate.names import literal, nearest, quote
from tidegate.problems import did_you_mean
from tidegate.sql_literals import interval

__all__ = ["read_own_check", "read_own_function"]


_DIRECTIVE = re.compile(r"\s*--\s*@(?P<key>\w+)\s*:\s*(?P<value>.*?)\s*$")
_KEYS = ("kind", "params", "description")
_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")
_TABLE = "table"


@lru_cache(maxsize=256)
def read_own_check(name: str, text: str, file: str = "") -> CheckKind:
    """`file`: relative to the project. Raises OwnCheckError."""
    if not file.endswith(".py"):
        return _read_sql(name, text)
    # Only here: few projects have one, and none needs Python's parser without.

    return read_own_function(name, text, file)


def _read_sql(name: str, text: str) -> CheckKind:
    directives: dict[str, tuple[str, int]] = {}
    lines = text.removeprefix("\ufeff").splitlines()
    at = 0
    for at, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith("--"):
            break
        if directive := _DIRECTIVE.match(line):
            key = directive["key"]
            if key not in _KEYS:
                near = did_you_mean(tuple(f"@{close}" for close in nearest(key, _KEYS)))
                hint = near or f"known are {', '.join(f'@{allowed}' for allowed in _KEYS)}"
                raise OwnCheckError(f"unknown directive @{key}; {hint}", at + 1)
            if key in directives:
                raise OwnCheckError(f"@{key} is set twice", at + 1)
            directives[key] = directive["value"], at + 1
    body = "\n".join(lines[at:]).strip().removesuffix(";").strip()
    form = directives.get("kind", ("row", 1))
    if form[0] not in ("row", "query"):
        raise OwnCheckError(f"@kind must be row or query, not '{form[0]}'", form[1])
    parameters = _parameters(*directives.get("params", ("", 1)))
    if not body or all(line.lstrip().startswith("--") for line in body.splitlines()):
        what = "a condition that every row must meet" if form[0] == "row" else "a query of the rows that break the rule"
        raise OwnCheckError(f"the file holds no SQL: write {what}", at + 1)
    if "--" in body or "/*" in body:
        raise OwnCheckError("comments must stand above the SQL", at + 1)
    _check_places(body, parameters, form[0] == "query", at + 1)
    return CheckKind(
        name,
        frozenset(Stage),
        parameters,
        directives.get("description", ("", 1))[0] or f"The project's own check {name}.",
        "as its SQL says",
        "as its SQL says",
        f"{name}({', '.join(parameter.name for parameter in parameters)})",
        _build(name, body, parameters, form[0] == "query"),
    )


def _parameters(text: str, line: int) -> tuple[Parameter, ...]:
    """`column, number limit`: a kind and a name, which is the kind's own where none is given."""
    parameters: dict[str, Parameter] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        word, _, name = item.partition(" ")
        name = name.strip() or word
        if word not in _WRITTEN:
            hint = did_you_mean(nearest(word, _WRITTEN)) or f"use one of {', '.join(_WRITTEN)}"
            raise OwnCheckError(f"@params: '{word}' is not a kind of argument; {hint}", line)
        if name in ABOUT:
            raise OwnCheckError(f"@params: '{name}' is a key of every check, so no parameter can be called so", line)
        if not name.isidentifier() or (name == _TABLE and word != _TABLE) or name in parameters:
            raise OwnCheckError(f"@params: '{name}' cannot be the name of a parameter, or is one already", line)
        name = "other" if name == _TABLE else name
        parameters[name] = Parameter(name, ParameterKind(word))
    return tuple(parameters.values())


def _check_places(body: str, parameters: tuple[Parameter, ...], is_query: bool, line: int) -> None:
    used = set(_PLACE.findall(body))
    names = {parameter.name for parameter in parameters} | ({_TABLE} if is_query else set())
    if unknown := sorted(used - names):
        hint = did_you_mean(nearest(unknown[0], names)) or "name it in @params"
        raise OwnCheckError(f"{{{unknown[0]}}} is no parameter of this check; {hint}", line)
    if unused := sorted(names - used):
        what = f"parameter {unused[0]}" if unused[0] != _TABLE else "the checked table"
        raise OwnCheckError(f"{what} is not used: write {{{unused[0]}}} in the SQL", line)


def _build(name: str, body: str, parameters: tuple[Parameter, ...], is_query: bool) -> Callable[[Arguments], CheckRule]:
    def build(args: Arguments) -> CheckRule:
        texts = {parameter.name: _WRITTEN[parameter.kind](args, parameter.name) for parameter in parameters}
        sql = _PLACE.sub(lambda place: texts.get(place[1], place[0]), body)
        if is_query:
            tables = [args.relation(p.name) for p in parameters if p.kind is ParameterKind.TABLE]
            return QueryRule(sql, f"no rows from {name}", tuple(map(str, tables)))
        columns = tuple(args.name(p.name) for p in parameters if p.kind is ParameterKind.COLUMN)
        return RowRule(f"NOT ({sql})", sql, columns)

    return build


def _text(args: Arguments, name: str) -> str:
    return _quoted(args.text(name))


def _quoted(text: str) -> str:
    """`{table}` in an argument is no place for the table."""
    return literal(text).replace("{", "\\u007B")


def _list(args: Arguments, name: str) -> str:
    return f"({', '.join(map(_quoted, items(args.text(name))))})"


_WRITTEN: Mapping[str, Callable[[Arguments, str], str]] = {
    "column": lambda args, name: args.quoted(name),
    "columns": lambda args, name: ", ".join(quote(column.name) for column in args.columns(name)),
    "operator": lambda args, name: args.operator(name),
    "number": lambda args, name: args.number(name),
    "percent": lambda args, name: plain(args.percent(name)),
    "duration": lambda args, name: interval(args.duration(name)),
    "text": _text,
    "list": _list,
    "type": lambda args, name: str(args.data_type(name)),
    "table": lambda args, name: args.relation(name).quoted,
    "condition": lambda args, name: f"({args.condition(name)})",
}
"""The SQL of an argument of each kind."""


_LISTS = ("list", "tuple", "Sequence", "Iterable", "Collection")


@dataclass(frozen=True, slots=True)
class _ParameterType:
    """How an argument is read, and what the function gets."""

    kind: ParameterKind
    value: Callable[[Arguments, str], Argument]
    choices: tuple[str, ...] = ()


def read_own_function(name: str, text: str, file: str) -> CheckKind:
    """Raises OwnCheckError."""
    function = _function(name, _parsed(text, file))
    kinds = {
        argument.arg: (_kind_of_parameter(argument, default), default)
        for argument, default in _function_parameters(function)
    }
    parameters = tuple(
        Parameter(word, kind.kind, optional=default is not None, choices=kind.choices)
        for word, (kind, default) in kinds.items()
    )
    summary = (ast.get_docstring(function) or "").strip().split("\n")[0]
    return CheckKind(
        name,
        frozenset(Stage),
        parameters,
        summary or f"The project's own check {name}.",
        "a condition that is NULL passes",
        "passes",
        f"{name}({', '.join(parameter.name for parameter in parameters)})",
        _build_function(name, file, function.lineno, text, {word: kind for word, (kind, _) in kinds.items()}),
    )


def _parsed(text: str, file: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.removeprefix("\ufeff"), file)
            compile(tree, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise OwnCheckError(f"this is not Python: {error.msg}", error.lineno or 1) from None
    except (ValueError, RecursionError) as error:
        raise OwnCheckError(f"this is not Python: {error}") from None
    return tree


def _function(name: str, tree: ast.Module) -> ast.FunctionDef:
    """The last of that name, as for Python itself."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if functions:
        return functions[-1]
    is_async = next((n for n in tree.body if isinstance(n, ast.AsyncFunctionDef) and n.name == name), None)
    if is_async is not None:
        raise OwnCheckError(f"{name} must be a plain function: write def, not async def", is_async.lineno)
    raise OwnCheckError(f"there is no function '{name}': write def {name}(column), which returns a Column")


def _function_parameters(function: ast.FunctionDef) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Each with its default; required parameters come first."""
    signature = function.args
    if variadic := signature.vararg or signature.kwarg:
        stars = "*" if variadic is signature.vararg else "**"
        raise OwnCheckError(f"{stars}{variadic.arg} cannot be given: name each parameter", variadic.lineno)
    if signature.posonlyargs:
        raise OwnCheckError("parameters are given by name: remove the /", function.lineno)
    without = [None] * (len(signature.args) - len(signature.defaults))
    optional: str | None = None
    for argument, default in (
        *zip(signature.args, [*without, *signature.defaults], strict=True),
        *zip(signature.kwonlyargs, signature.kw_defaults, strict=True),
    ):
        if argument.arg in ABOUT:
            message = f"'{argument.arg}' is a key of every check, so no parameter can be called so"
            raise OwnCheckError(message, argument.lineno)
        if optional and default is None:
            message = f"parameter {argument.arg} has no default and follows {optional}, which has: put it before"
            raise OwnCheckError(message, argument.lineno)
        optional = argument.arg if default is not None else None
        yield argument, default


def _kind_of_parameter(argument: ast.arg, default: ast.expr | None) -> _ParameterType:
    if argument.annotation is not None:
        word = _word(argument.annotation)
        if word in _BY_WORD:
            return _BY_WORD[word]
        words = ", ".join(_BY_WORD)
        message = f"parameter {argument.arg} cannot be {ast.unparse(argument.annotation)}: use one of {words}"
        raise OwnCheckError(message, argument.lineno)
    if default is None:
        return _BY_WORD["Column"]
    try:
        kind = _BY_DEFAULT.get(type(ast.literal_eval(default)))
    except (TypeError, ValueError):
        kind = None
    if kind is None:
        message = (
            f"the default of parameter {argument.arg} does not show its type: write for example {argument.arg}: int"
        )
        raise OwnCheckError(message, argument.lineno)
    return kind


def _word(annotation: ast.expr) -> str:
    """`pyspark.sql.Column | None` is Column, `Sequence[str]` is list[str]."""
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                return _word(ast.parse(text, mode="eval").body)
            except SyntaxError:
                return ""
        case ast.BinOp(left=one, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _word(one)
        case ast.Subscript(value=of, slice=inner) if _word(of) == "Optional":
            return _word(inner)
        case ast.Subscript(value=of, slice=inner) if _word(of) in _LISTS:
            first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
            return f"list[{_word(first)}]"
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _build_function(
    name: str, file: str, line: int, text: str, kinds: Mapping[str, _ParameterType]
) -> Callable[[Arguments], CheckRule]:
    def build(args: Arguments) -> CheckRule:
        arguments = tuple((word, kind.value(args, word)) for word, kind in kinds.items() if args.has(word))
        called = ", ".join(argument_text(args.text(word)) for word, _ in arguments)
        columns = tuple(column for _, value in arguments for column in _columns_in(value))
        return FunctionRule(name, file, line, text, arguments, f"every row meets {name}({called})", columns)

    return build


def _columns_in(value: Argument) -> Iterator[str]:
    if isinstance(value, ColumnName):
        yield value.name
    elif isinstance(value, tuple):
        yield from (one.name for one in value if isinstance(one, ColumnName))


def _number_of(args: Arguments, name: str) -> int | float:
    value = args.decimal(name)
    return int(value) if value == value.to_integral_value() else float(value)


def _columns_of(args: Arguments, name: str) -> tuple[ColumnName, ...]:
    return tuple(ColumnName(column.name) for column in args.columns(name))


_TRUE = ("true", "false")
_BY_WORD: Mapping[str, _ParameterType] = {
    "Column": _ParameterType(ParameterKind.COLUMN, lambda args, name: ColumnName(args.column(name).name)),
    "str": _ParameterType(ParameterKind.TEXT, lambda args, name: args.text(name)),
    "int": _ParameterType(ParameterKind.INTEGER, lambda args, name: args.integer(name)),
    "float": _ParameterType(ParameterKind.NUMBER, lambda args, name: float(args.decimal(name))),
    "Decimal": _ParameterType(ParameterKind.NUMBER, lambda args, name: args.decimal(name)),
    "bool": _ParameterType(ParameterKind.CHOICE, lambda args, name: args.text(name).strip().lower() == "true", _TRUE),
    "timedelta": _ParameterType(ParameterKind.DURATION, lambda args, name: args.duration(name)),
    "list[str]": _ParameterType(ParameterKind.LIST, lambda args, name: items(args.text(name))),
    "list[Column]": _ParameterType(ParameterKind.COLUMNS, _columns_of),
}
"""By annotation."""

_BY_DEFAULT: Mapping[type, _ParameterType] = {
    bool: _BY_WORD["bool"],
    int: _ParameterType(ParameterKind.NUMBER, _number_of),
    float: _BY_WORD["float"],
    str: _BY_WORD["str"],
    list: _BY_WORD["list[str]"],
    tuple: _BY_WORD["list[str]"],
}
"""By the type of a default, where there is no annotation."""
