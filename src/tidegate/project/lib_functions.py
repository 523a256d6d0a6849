"""A project's own table functions, which SQL models call in FROM.

`lib/x.py` defines a function `x`, or a class `x` with a method `eval`. Files are read, never run, here.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from blake3 import blake3

from tidegate.datatypes import NOTHING_KNOWN, Column, Relation, parse_type
from tidegate.problems import Place, Problem

__all__ = [
    "LIB_FOLDER",
    "FunctionValue",
    "LibFunction",
    "LibFunctions",
    "arguments_of",
    "lib_files",
    "read_lib_functions",
]

LIB_FOLDER = "lib"

FunctionValue = str | int | float | bool | None
"""An argument: what SQL writes as a constant and JSON can carry."""


@dataclass(frozen=True, slots=True)
class LibFunction:
    name: str

    file: str
    """Relative to the project."""

    source: str
    line: int

    parameters: tuple[str, ...]
    required: int
    """So many of the parameters have no default."""

    relation: Relation
    """The columns of its rows, as far as they are declared."""

    schema: str = ""
    """The declared columns, as DDL."""

    is_class: bool = False
    """A table function as PySpark has them."""

    gives_version: bool = False
    """The file defines `version`, which is called with the same arguments and says which state of its data it gives."""

    digest: str = ""
    """Of its syntax tree: formatting and comments do not count."""


@dataclass(slots=True)
class LibFunctions:
    functions: dict[str, LibFunction] = field(default_factory=dict)
    """By name in lower case."""

    names: set[str] = field(default_factory=set)
    """Also of those that cannot be used."""

    problems: list[Problem] = field(default_factory=list)


class _Unusable(ValueError):
    def __init__(self, message: str, line: int = 1, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.suggestion = suggestion


def lib_files(root: Path) -> list[str]:
    """Relative to the project."""
    try:
        names = sorted(os.listdir(root / LIB_FOLDER))
    except OSError:
        return []
    return [f"{LIB_FOLDER}/{name}" for name in names if name.endswith(".py") and not name.startswith((".", "_"))]


def read_lib_functions(files: Iterable[tuple[str, str]]) -> LibFunctions:
    """From paths and texts."""
    found = LibFunctions()
    for path, text in files:
        name = PurePosixPath(path).stem
        found.names.add(name.lower())
        try:
            if not name.isidentifier() or not name.isascii():
                raise _Unusable(f"'{name}' cannot be called in SQL", suggestion="rename the file")
            if name.lower() in found.functions:
                message = f"there is a function '{name}' already; capital letters do not count in SQL"
                raise _Unusable(message, suggestion="rename it")
            found.functions[name.lower()] = _read(name, text, path)
        except _Unusable as error:
            place = Place(path, error.line)
            found.problems.append(Problem("InvalidLibFunction", str(error), place, suggestion=error.suggestion))
    return found


def _read(name: str, text: str, path: str) -> LibFunction:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.removeprefix("\ufeff"), path)
    except SyntaxError as error:
        raise _Unusable(f"this is not Python: {error.msg}", error.lineno or 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise _Unusable(f"this is not Python: {error}") from None
    defined = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    node = defined.get(name)
    if isinstance(node, ast.AsyncFunctionDef):
        raise _Unusable(f"{name} must be a plain function", node.lineno, "write def, not async def")
    if node is None:
        raise _Unusable(f"there is no function '{name}'", suggestion=f"write def {name}(…), which returns rows")
    is_class = isinstance(node, ast.ClassDef)
    function = _eval_of(node) if isinstance(node, ast.ClassDef) else node
    schema = _schema(node, function)
    relation = _relation(schema, node.lineno) if schema else NOTHING_KNOWN
    parameters, required = _parameters(function, skip=1 if is_class else 0)
    version = isinstance(defined.get("version"), ast.FunctionDef)
    digest = blake3(ast.dump(tree).encode(errors="surrogateescape")).hexdigest()
    return LibFunction(
        name, path, text, node.lineno, parameters, required, relation, schema, is_class, version, str(digest)
    )


def _eval_of(node: ast.ClassDef) -> ast.FunctionDef:
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "eval":
            return item
    raise _Unusable(
        f"the class {node.name} has no method eval", node.lineno, "write def eval(self, …), which yields rows"
    )


def _parameters(function: ast.FunctionDef, skip: int) -> tuple[tuple[str, ...], int]:
    signature = function.args
    if variadic := signature.vararg or signature.kwarg:
        message = f"{variadic.arg} takes any number of arguments, so calls cannot be checked"
        raise _Unusable(message, variadic.lineno, "name each parameter")
    if signature.posonlyargs[skip:]:
        raise _Unusable("parameters are given by name", function.lineno, "remove the /")
    positional = [*signature.posonlyargs, *signature.args][skip:]
    plain = [argument.arg for argument in positional]
    first_default = len(plain) - len(signature.defaults)
    without = [a.arg for a, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True) if default is None]
    if without:
        message = f"{without[0]} has no default and can only be given by name"
        raise _Unusable(message, function.lineno, "move it before the *")
    return (*plain, *(argument.arg for argument in signature.kwonlyargs)), max(first_default, 0)


def _schema(node: ast.FunctionDef | ast.ClassDef, function: ast.FunctionDef) -> str:
    """`-> "year int, clicks bigint"`, or `@udtf(returnType="…")`."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            given = [keyword.value for keyword in decorator.keywords if keyword.arg == "returnType"]
            for value in given:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    return value.value.strip()
    returns = function.returns if isinstance(node, ast.FunctionDef) else None
    if isinstance(returns, ast.Constant) and isinstance(returns.value, str):
        return returns.value.strip() if " " in returns.value.strip() else ""
    return ""


def _relation(schema: str, line: int) -> Relation:
    inner = schema.removeprefix("struct<").removesuffix(">") if schema.startswith("struct<") else schema
    kind = parse_type(f"struct<{inner}>")
    if kind is None or not kind.args:
        message = f"its columns are not understood: {schema}"
        raise _Unusable(message, line, 'write names and types of Spark, as in -> "year int, clicks bigint"')
    return Relation(tuple(Column(name, of) for name, of in kind.args))


def arguments_of(
    function: LibFunction, given: Sequence[tuple[str | None, FunctionValue]]
) -> tuple[tuple[str, FunctionValue], ...]:
    """By the names of its parameters. Raises ValueError with what is wrong with the call."""
    values: dict[str, FunctionValue] = {}
    for number, (name, value) in enumerate(given):
        if name is None:
            if number >= len(function.parameters):
                raise ValueError(f"{function.name} takes {_count(function)}, and is given {len(given)}")
            name = function.parameters[number]
        match = next((word for word in function.parameters if word.lower() == name.lower()), None)
        if match is None:
            raise ValueError(f"{function.name} has no parameter '{name}'")
        if match in values:
            raise ValueError(f"{function.name} is given {match} twice")
        values[match] = value
    missing = [word for word in function.parameters[: function.required] if word not in values]
    if missing:
        raise ValueError(f"{function.name} needs {', '.join(missing)}")
    return tuple((word, values[word]) for word in function.parameters if word in values)


def _count(function: LibFunction) -> str:
    most = len(function.parameters)
    least = function.required
    count = str(most) if least == most else f"{least} to {most}"
    return f"{count} argument{'' if count == '1' else 's'}"
