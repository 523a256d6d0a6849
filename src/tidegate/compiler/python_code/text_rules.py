"""Rules on texts: format strings, names of attributes, and SQL."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from string import Formatter

from tidegate.compiler.analysis.functions.lookup import REFUSED, WITH_OPTIONS
from tidegate.compiler.python_code.blocked_names import FRAME_ATTRIBUTES, PLAIN_DUNDERS
from tidegate.compiler.python_code.code_problem import CodeProblem, problem_at
from tidegate.compiler.python_code.code_tree import CodeTree
from tidegate.compiler.python_code.name_rules import NameRules, is_dunder
from tidegate.project.python_tree import NUMBER_FORMAT, VALUES_IN_SQL

__all__ = ["check_texts"]

_CODE = "BlockedText"
_REFUSED = "|".join(sorted(REFUSED))
_CALL = re.compile(rf"(?<!\w)({_REFUSED})`?\s*(?:--[^\n]*\n|/\*.*?\*/|\s)*\(", re.IGNORECASE | re.DOTALL)
_NAMED_CALL = re.compile(rf"(?<!\w)({_REFUSED})(?!\w)", re.IGNORECASE)
_FILES = re.compile(
    r"(?<!\w)(csv|json|parquet|orc|text|binaryfile|avro|xml|delta|iceberg|jdbc|hudi)`?\s*\.\s*[`\"]", re.IGNORECASE
)
_CARRIES_CODE = re.compile(
    rf"<!DOCTYPE|<!ENTITY|serializedClass|pyClass|{'|'.join(set(WITH_OPTIONS.values()))}", re.IGNORECASE
)
_SUBQUERY = re.compile(r"(?<!\w)select(?!\w)", re.IGNORECASE)
_INDEX = re.compile(r"__index_level_\d+__")


def check_texts(node: ast.AST, tree: CodeTree, names: NameRules) -> Iterator[CodeProblem]:
    match node:
        case ast.Constant(value=str(text)):
            if not isinstance(tree.parents.get(node), ast.Expr | ast.JoinedStr):
                yield from _plain(node, text)
        case ast.BinOp() | ast.JoinedStr():
            if not isinstance(tree.parents.get(node), ast.BinOp) and (known := tree.text(node)) is not None:
                yield from _plain(node, known)
        case ast.Attribute(value=value, attr="format") if (known := tree.text(value)) is not None:
            yield from _format(node, known)
        case ast.Call():
            if (known := tree.text(node)) is not None:
                yield from _plain(node, known)
            yield from _sql_call(node, tree, names)


def _plain(node: ast.AST, text: str) -> Iterator[CodeProblem]:
    name = text.strip()
    if (is_dunder(name) and name not in PLAIN_DUNDERS and not _INDEX.fullmatch(name)) or name in FRAME_ATTRIBUTES:
        message = f"the text '{name}' is the name of an attribute that is blocked"
        yield problem_at(
            node, _CODE, message, "use another text; what belongs to the insides of Python is not for models"
        )
    elif found := _CALL.search(text):
        yield problem_at(node, _CODE, f"{found[1].lower()} in SQL is blocked: it leaves the data", "compute it in SQL")
    elif found := _FILES.search(text):
        message = f"the text reads files: {found[0]}…"
        yield problem_at(node, _CODE, message, "read with tg.ref, tg.landing_zone or tg.sql over tables of the project")
    elif found := _CARRIES_CODE.search(text):
        message = f"{found[0]} in a text is blocked: it may carry code or name a file"
        yield problem_at(node, _CODE, message, "write the type with pyspark.sql.types, or as DDL")


def _format(node: ast.Attribute, text: str) -> Iterator[CodeProblem]:
    waiting = [text]
    while waiting:
        try:
            fields = list(Formatter().parse(waiting.pop()))
        except ValueError:
            continue
        for _, field, spec, _ in fields:
            if field and ("." in field or "[" in field):
                message = f"the field {{{field}}} of a format string is blocked: it reaches attributes by their names"
                yield problem_at(node, _CODE, message, "write an f-string")
            if spec and "{" in spec:
                waiting.append(spec)


def _sql_call(node: ast.Call, tree: CodeTree, names: NameRules) -> Iterator[CodeProblem]:
    qualified = names.qualified(node.func)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if "pyspark.sql.functions.call_function" in qualified:
        name = tree.text(node.args[0]) if node.args else None
        if name is None or _NAMED_CALL.search(name):
            message = "call_function needs the name of one of Spark's functions, written as a text"
            yield problem_at(node, _CODE, message, "call the function itself, as in F.upper('name')")
        return
    if "pyspark.sql.functions.expr" in qualified or method in ("sql", "selectExpr"):
        for given in (*node.args, *(k.value for k in node.keywords if k.arg in ("str", "sqlQuery", "query", None))):
            yield from _query(given, tree) if method == "sql" else _sql(given, tree, always=True)
    elif method in ("filter", "where"):
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from _sql(given, tree, always=False)


def _query(given: ast.expr, tree: CodeTree) -> Iterator[CodeProblem]:
    """The tables of a query are found in its text, so that is written in one piece."""
    text = given
    if isinstance(given, ast.Name) and len(tree.values.get(given.id, ())) == 1:
        text = tree.values[given.id][0] or given
    plain = isinstance(text, ast.Constant | ast.BinOp) and tree.text(text) is not None
    if plain or (isinstance(text, ast.JoinedStr) and _with_values(text, tree) is not None):
        yield from _sql(text, tree, always=True, query=True)
    else:
        message = "the SQL is computed, so no check sees which tables it reads"
        yield problem_at(
            given, _CODE, message, f"write it as one text, or read with tg.ref and Spark's functions{_hint(text)}"
        )


def _sql(given: ast.expr, tree: CodeTree, *, always: bool, query: bool = False) -> Iterator[CodeProblem]:
    """`always`: it is SQL; else only if it is seen to be a text."""
    if isinstance(given, ast.Name) and len(tree.values.get(given.id, ())) == 1:
        given = tree.values[given.id][0] or given
    if isinstance(given, ast.List | ast.Tuple):
        for part in given.elts:
            yield from _sql(part, tree, always=always)
        return
    text = tree.text(given)
    if text is None and isinstance(given, ast.JoinedStr):
        text = _with_values(given, tree)
    if text is None and (always or _builds_text(given)):
        message = "the SQL is computed, so no check sees what it does"
        fix = "write it as one text, or with Spark's functions: F.col(name) > F.lit(value)"
        yield problem_at(given, _CODE, message, f"{fix}{_hint(given)}")
    elif text is not None and (found := _NAMED_CALL.search(text)):
        yield problem_at(given, _CODE, f"{found[1].lower()} in SQL is blocked: it leaves the data", "compute it in SQL")
    elif text is not None and not query and _SUBQUERY.search(text):
        message = "a query in an expression is blocked: the tables that it reads are not seen"
        yield problem_at(given, _CODE, message, "write the whole query with tg.sql, or join the table")


def _hint(given: ast.expr) -> str:
    return "; numbers need a format, as in {limit:d}" if isinstance(given, ast.JoinedStr) else ""


def _with_values(given: ast.JoinedStr, tree: CodeTree) -> str | None:
    """The text of an f-string whose places are values of the run or formatted numbers."""
    texts: list[str] = []
    for part in given.values:
        if isinstance(part, ast.FormattedValue):
            spec = tree.text(part.format_spec) if part.format_spec is not None else None
            value = isinstance(part.value, ast.Attribute) and part.value.attr in VALUES_IN_SQL
            number = bool(spec) and bool(NUMBER_FORMAT.fullmatch(spec or ""))
            text = tree.text(part.value) if not (value or number) else "0"
        else:
            text = tree.text(part)
        if text is None:
            return None
        texts.append(text)
    return "".join(texts)


def _builds_text(given: ast.expr) -> bool:
    match given:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod() | ast.Mult(), right=right):
            return _builds_text(left) or (isinstance(given.op, ast.Add) and _builds_text(right))
        case ast.Call(func=ast.Attribute(value=value, attr=method)):
            return method in ("join", "format", "replace", "decode") and (method == "decode" or _builds_text(value))
    return False
