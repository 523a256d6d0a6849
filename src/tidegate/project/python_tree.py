"""Syntax trees of Python: what names `tg`, what belongs to a scope, and a digest of what the code does."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import Any

from blake3 import blake3

__all__ = [
    "NUMBER_FORMAT",
    "VALUES_IN_SQL",
    "NestedTooDeepError",
    "digest_of_tree",
    "docstrings",
    "filled_text",
    "is_tg",
    "literal_text",
    "scope_nodes",
    "tg_names",
]

VALUES_IN_SQL = frozenset({"watermark_value", "run_started_at"})
"""Names of `tg` whose values an f-string with SQL may hold."""

NUMBER_FORMAT = re.compile(r"[-+ #0,_.\d]*[bdeEfFgGn%]")
"""Only numbers can be written so."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_DEEPEST = 400


class NestedTooDeepError(Exception):
    pass


def tg_names(tree: ast.Module) -> frozenset[str]:
    """Every name that may hold `tg` somewhere, also as `tidegate.tg`; scopes are not told apart."""
    names = {"tg", "tidegate.tg"}
    functions: dict[str, list[str]] = {}
    given: list[tuple[str, ast.expr]] = []
    calls: list[ast.Call] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions[node.name] = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        elif isinstance(node, ast.ImportFrom) and node.module == "tidegate" and not node.level:
            names |= {alias.asname or alias.name for alias in node.names if alias.name == "tg"}
        elif isinstance(node, ast.Import):
            names |= {f"{alias.asname}.tg" for alias in node.names if alias.name == "tidegate" and alias.asname}
        elif isinstance(node, ast.Assign):
            given += [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.NamedExpr):
            given.append((node.target.id, node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.append(node)
    names |= set(functions.get("model", ())[:1])
    for call in calls:
        assert isinstance(call.func, ast.Name)
        parameters = functions.get(call.func.id, [])
        given += list(zip(parameters, call.args, strict=False))
        given += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg in parameters]
    before = 0
    while len(names) > before:
        before = len(names)
        names |= {name for name, value in given if isinstance(value, ast.Name) and value.id in names}
    return frozenset(names)


def is_tg(node: ast.expr, names: Collection[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "tg" and isinstance(node.value, ast.Name) and f"{node.value.id}.tg" in names
    return isinstance(node, ast.Name) and node.id in names


def literal_text(node: ast.expr | None) -> str | None:
    """The text that is written there; None where it is computed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
        return None if None in parts else "".join(map(str, parts))
    return None


def filled_text(node: ast.expr | None, names: Collection[str]) -> str | None:
    """The text of an f-string whose places are values of the run or formatted numbers, with a zero for each."""
    if not isinstance(node, ast.JoinedStr):
        return None
    return None if None in (parts := [_filled(part, names) for part in node.values]) else "".join(map(str, parts))


def _filled(part: ast.expr, names: Collection[str]) -> str | None:
    if not isinstance(part, ast.FormattedValue):
        return literal_text(part)
    value = part.value
    known = isinstance(value, ast.Attribute) and value.attr in VALUES_IN_SQL and is_tg(value.value, names)
    return "0" if known or NUMBER_FORMAT.fullmatch(literal_text(part.format_spec) or "") else None


def scope_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module's or a function's own scope; of a function within, only the node itself."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, _SCOPES):
            waiting = [*ast.iter_child_nodes(node), *waiting]


def docstrings(tree: ast.Module) -> frozenset[int]:
    """The ids of the nodes."""
    ids = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and _documented(node):
            ids.add(id(node.body[0].value))  # type: ignore[attr-defined]
    return frozenset(ids)


def _documented(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    first = node.body[0] if node.body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def digest_of_tree(tree: ast.Module, names: Collection[str]) -> str:
    """Equal for the same code in each version of Python, which `ast.dump` is not. Docstrings and the decorator that
    holds settings are left out."""
    return str(blake3(repr(_shape(tree, names, 0)).encode(errors="surrogatepass")).hexdigest())


def _shape(node: Any, names: Collection[str], depth: int) -> Any:
    if depth > _DEEPEST:
        raise NestedTooDeepError
    if isinstance(node, list):
        return [_shape(item, names, depth) for item in node]
    if not isinstance(node, ast.AST):
        return f"{type(node).__name__} {node!r}"
    fields = []
    for name, value in ast.iter_fields(node):
        if value is None or value == [] or name in ("kind", "type_comment", "type_ignores"):
            continue
        if name == "body" and isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            value = value[1:] if _documented(node) else value
        elif name == "decorator_list":
            value = [item for item in value if not _holds_settings(item, names)]
            if not value:
                continue
        fields.append((name, _shape(value, names, depth + 1)))
    return (type(node).__name__, fields)


def _holds_settings(node: ast.expr, names: Collection[str]) -> bool:
    inner = node.func if isinstance(node, ast.Call) else node
    return isinstance(inner, ast.Attribute) and inner.attr == "model" and is_tg(inner.value, names)
