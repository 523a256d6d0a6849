"""`checks/<name>.py`: a function that gives a condition. Its parameters are read from its text, which is not run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tidegate.checks.kinds import ABOUT, CheckKind, OwnCheckError
from tidegate.checks.parameters import Arguments, Parameter, ParameterKind, items
from tidegate.checks.parsing import argument_text
from tidegate.checks.values import Argument, ColumnName, Form, FunctionRule, Stage

__all__ = ["read_own_function"]

_LISTS = ("list", "tuple", "Sequence", "Iterable", "Collection")


@dataclass(frozen=True, slots=True)
class _Kind:
    """How an argument is read, and what the function gets."""

    kind: ParameterKind
    value: Callable[[Arguments, str], Argument]
    choices: tuple[str, ...] = ()


def read_own_function(name: str, text: str, file: str) -> CheckKind:
    """Raises OwnCheckError."""
    function = _function(name, _parsed(text, file))
    kinds = {argument.arg: (_kind_of(argument, default), default) for argument, default in _parameters(function)}
    parameters = tuple(
        Parameter(word, kind.kind, optional=default is not None, choices=kind.choices)
        for word, (kind, default) in kinds.items()
    )
    said = (ast.get_docstring(function) or "").strip().split("\n")[0]
    return CheckKind(
        name,
        frozenset(Stage),
        parameters,
        said or f"The project's own check {name}.",
        "a condition that is NULL passes",
        "passes",
        f"{name}({', '.join(parameter.name for parameter in parameters)})",
        _build(name, file, function.lineno, text, {word: kind for word, (kind, _) in kinds.items()}),
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
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if found:
        return found[-1]
    is_async = next((n for n in tree.body if isinstance(n, ast.AsyncFunctionDef) and n.name == name), None)
    if is_async is not None:
        raise OwnCheckError(f"{name} must be a plain function: write def, not async def", is_async.lineno)
    raise OwnCheckError(f"there is no function '{name}': write def {name}(column), which returns a Column")


def _parameters(function: ast.FunctionDef) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """With what each is where it is not given; those that must be given come first."""
    given = function.args
    if rest := given.vararg or given.kwarg:
        stars = "*" if rest is given.vararg else "**"
        raise OwnCheckError(f"{stars}{rest.arg} cannot be given: name each parameter", rest.lineno)
    if given.posonlyargs:
        raise OwnCheckError("parameters are given by name: remove the /", function.lineno)
    without = [None] * (len(given.args) - len(given.defaults))
    optional: str | None = None
    for argument, default in (
        *zip(given.args, [*without, *given.defaults], strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ):
        if argument.arg in ABOUT:
            message = f"'{argument.arg}' is a key of every check, so no parameter can be called so"
            raise OwnCheckError(message, argument.lineno)
        if optional and default is None:
            message = f"parameter {argument.arg} has no default and follows {optional}, which has: put it before"
            raise OwnCheckError(message, argument.lineno)
        optional = argument.arg if default is not None else None
        yield argument, default


def _kind_of(argument: ast.arg, default: ast.expr | None) -> _Kind:
    if argument.annotation is not None:
        word = _word(argument.annotation)
        if word in _BY_WORD:
            return _BY_WORD[word]
        known = ", ".join(_BY_WORD)
        message = f"parameter {argument.arg} cannot be {ast.unparse(argument.annotation)}: use one of {known}"
        raise OwnCheckError(message, argument.lineno)
    if default is None:
        return _BY_WORD["Column"]
    try:
        found = _BY_DEFAULT.get(type(ast.literal_eval(default)))
    except (TypeError, ValueError):
        found = None
    if found is None:
        message = f"the default of parameter {argument.arg} does not tell its type: write {argument.arg}: int, or such"
        raise OwnCheckError(message, argument.lineno)
    return found


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


def _build(name: str, file: str, line: int, text: str, kinds: Mapping[str, _Kind]) -> Callable[[Arguments], Form]:
    def build(given: Arguments) -> Form:
        arguments = tuple((word, kind.value(given, word)) for word, kind in kinds.items() if given.has(word))
        called = ", ".join(argument_text(given.text(word)) for word, _ in arguments)
        shown = tuple(column for _, value in arguments for column in _columns_in(value))
        return FunctionRule(name, file, line, text, arguments, f"every row meets {name}({called})", shown)

    return build


def _columns_in(value: Argument) -> Iterator[str]:
    if isinstance(value, ColumnName):
        yield value.name
    elif isinstance(value, tuple):
        yield from (one.name for one in value if isinstance(one, ColumnName))


def _number(given: Arguments, name: str) -> int | float:
    value = given.decimal(name)
    return int(value) if value == value.to_integral_value() else float(value)


def _columns(given: Arguments, name: str) -> tuple[ColumnName, ...]:
    return tuple(ColumnName(column.name) for column in given.columns(name))


_TRUE = ("true", "false")
_BY_WORD: Mapping[str, _Kind] = {
    "Column": _Kind(ParameterKind.COLUMN, lambda given, name: ColumnName(given.column(name).name)),
    "str": _Kind(ParameterKind.TEXT, lambda given, name: given.text(name)),
    "int": _Kind(ParameterKind.INTEGER, lambda given, name: given.integer(name)),
    "float": _Kind(ParameterKind.NUMBER, lambda given, name: float(given.decimal(name))),
    "Decimal": _Kind(ParameterKind.NUMBER, lambda given, name: given.decimal(name)),
    "bool": _Kind(ParameterKind.CHOICE, lambda given, name: given.text(name).strip().lower() == "true", _TRUE),
    "timedelta": _Kind(ParameterKind.DURATION, lambda given, name: given.duration(name)),
    "list[str]": _Kind(ParameterKind.LIST, lambda given, name: items(given.text(name))),
    "list[Column]": _Kind(ParameterKind.COLUMNS, _columns),
}
"""By annotation."""

_BY_DEFAULT: Mapping[type, _Kind] = {
    bool: _BY_WORD["bool"],
    int: _Kind(ParameterKind.NUMBER, _number),
    float: _BY_WORD["float"],
    str: _BY_WORD["str"],
    list: _BY_WORD["list[str]"],
    tuple: _BY_WORD["list[str]"],
}
"""By the type of a default, where there is no annotation."""
