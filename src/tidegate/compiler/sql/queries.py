"""One rendered text → one parsed query, with the tables it names and where."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sqlglot import Dialect, exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

from tidegate.compiler.analysis.functions.function import WRITTEN_AS
from tidegate.compiler.analysis.query_tokens import TOKENS_KEY, rewrite_tokens
from tidegate.compiler.analysis.unsupported import (
    MARKER_NODES,
    Unsupported,
    misread_character,
    unquoted_names,
    unsupported_syntax,
)
from tidegate.compiler.sql.permitted import PermissionCheck, Permissions
from tidegate.compiler.sql.scopes import DrivingPath, cte_of, driving_path, offset_of
from tidegate.names import nearest
from tidegate.project.lib_functions import FunctionValue

__all__ = [
    "NOT_PERMITTED",
    "ParsedQuery",
    "SqlFault",
    "TableCall",
    "TableReference",
    "check_permissions",
    "parse_permitted",
    "parse_query",
]

# Statements that sqlglot does not parse get a diagnostic here; its own warning would report them twice.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

_SPARK = Dialect.get_or_raise("spark")
_SPARK.ORIGINAL_NAME_META_KEY = WRITTEN_AS
_SPARK.parser_class.COLON_IS_VARIANT_EXTRACT = True


@dataclass(frozen=True, slots=True)
class SqlFault:
    """Why a text is not one valid query; `offset` is the place in the text."""

    code: str
    message: str
    offset: int
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table named in a query: `text[start:end]`. `alias` None where the query gives it no other name."""

    parts: tuple[str, ...]
    start: int
    end: int
    alias: str | None
    driving: bool
    node: Any = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TableCall:
    """A call of a table function of the project in FROM: `text[start:end]`."""

    name: str
    arguments: tuple[tuple[str | None, FunctionValue], ...] | None
    """Each with its name where it is given by name; None where one is no constant."""
    start: int
    end: int
    alias: str | None
    driving: bool
    node: Any = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """`text[start:end]` is the query without the comments around it and without the semicolon.

    `faults`: what a query may not do, though it can be understood.
    """

    text: str
    start: int
    end: int
    tree: Any
    tokens: tuple[Any, ...]
    references: tuple[TableReference, ...]
    path: DrivingPath
    faults: tuple[SqlFault, ...]
    nodes: Mapping[type, list[Any]]
    """The nodes of the tree that callers look for, by class and in the order of the tree."""
    calls: tuple[TableCall, ...] = ()


def parse_query(text: str, functions: Collection[str] = ()) -> ParsedQuery | SqlFault:
    """`functions`: the table functions of the project, in lower case."""
    try:
        tokens: list[Token] = _SPARK.tokenize(text)
    except TokenError:
        return _unclosed(text)
    first = [i for i, token in enumerate(tokens) if token.token_type is not TokenType.SEMICOLON]
    if not first:
        return SqlFault("EmptyModel", "the file holds no query", 0, "write a SELECT")
    begin = first[0]
    end = next((i for i in range(begin, len(tokens)) if tokens[i].token_type is TokenType.SEMICOLON), len(tokens))
    statement = tokens[begin:end]
    if extra := [tokens[i] for i in first if tokens[i].start > statement[-1].end]:
        message = "the file holds more than one statement; a model is one query"
        return SqlFault("MultipleStatements", message, extra[0].start)
    if not text.isascii() and (sign := misread_character(statement)):
        return _unsupported(sign)
    wrong_names = () if text.isascii() else tuple(map(_unsupported, unquoted_names(statement)))
    tree = _parsed(statement, text)
    if isinstance(tree, SqlFault):
        return next(iter(wrong_names), tree)
    if not isinstance(tree, exp.Query | exp.Values):
        message = f"a model is a query (SELECT, WITH, VALUES), not {statement[0].text.upper()}"
        return SqlFault("NotAQuery", message, statement[0].start)
    tree.meta[TOKENS_KEY] = statement
    path, nodes = driving_path(tree), _collect(tree)
    found, faults = _references(nodes[exp.Table], statement, path)
    faults += tuple(map(_hidden_by_lateral, filter(_names_a_table, nodes[exp.Lateral])))
    faults += (*wrong_names, *map(_unsupported, unsupported_syntax(statement, nodes)))
    return ParsedQuery(
        text,
        statement[0].start,
        statement[-1].end + 1,
        tree,
        tuple(statement),
        found,
        path,
        faults,
        nodes,
        tuple(_calls(nodes[exp.Table], statement, path, functions)) if functions else (),
    )


def _unsupported(found: Unsupported) -> SqlFault:
    return SqlFault("UnsupportedSyntax", found.message, found.offset, found.hint)


def _parsed(statement: list[Token], text: str) -> Any:
    """The tree, or why there is none."""
    parser = _SPARK.parser()
    try:
        return parser.parse(rewrite_tokens(statement), text)[0]
    except ParseError as error:
        fault = _syntax_error(text, error)
        first = statement[0]
        if first.text.upper() not in _FIRST_WORDS and (close := nearest(first.text, _FIRST_WORDS, 1)):
            message = f"the SQL is not understood at '{first.text}': no query begins like that"
            return SqlFault("SqlSyntax", message, first.start, f"did you mean {close[0]}?")
        if misspelt := _misspelt_clause(statement, fault.offset):
            return misspelt
        about_arguments = any(words in str(error) for words in _ABOUT_ARGUMENTS)
        return (_wrong_call(statement) if about_arguments else None) or fault
    except TokenError:
        # A hint is split into words only now.
        return SqlFault("SqlSyntax", "a hint is not understood", statement[0].start, "write it as /*+ NAME(table) */")
    except RecursionError:
        return SqlFault("SqlSyntax", "the query is nested too deeply", statement[0].start)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
        # The parser may fail on a call without reporting that an argument is missing.
        return _wrong_call(statement) or _not_understood(parser, statement)


def _not_understood(parser: Any, statement: list[Token]) -> SqlFault:
    """At the word where the parser stopped."""
    last = parser._prev if parser._prev and parser._prev.text else statement[0]
    return SqlFault("SqlSyntax", f"the SQL is not understood at '{last.text}'", last.start)


_FIRST_WORDS = ("SELECT", "WITH", "VALUES", "FROM")
_CLAUSES = ("FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "UNION", "WINDOW")
_BEFORE_A_CLAUSE = frozenset(
    {TokenType.VAR, TokenType.IDENTIFIER, TokenType.STAR, TokenType.R_PAREN, TokenType.NUMBER, TokenType.STRING}
)
_ABOUT_ARGUMENTS = ("Required argument", "Required keyword", "number of provided arguments")


def _misspelt_clause(statement: list[Token], offset: int) -> SqlFault | None:
    """The word before the error, where it was parsed as an alias and is close to a keyword."""
    at = next((i for i, token in enumerate(statement) if token.start >= offset), 0) - 1
    if at < 1 or statement[at].token_type is not TokenType.VAR or statement[at - 1].token_type not in _BEFORE_A_CLAUSE:
        return None
    word = statement[at]
    if not (close := nearest(word.text, _CLAUSES, 1)):
        return None
    return SqlFault("SqlSyntax", f"the SQL is not understood at '{word.text}'", word.start, f"did you mean {close[0]}?")


def _wrong_call(statement: list[Token]) -> SqlFault | None:
    """The first call with too few or too many arguments, judged from the words alone."""
    # Imported here: nearly all queries parse without it.
    from tidegate.compiler.analysis.query_tokens import wrong_calls

    found = next(iter(wrong_calls(statement)), None)
    return None if found is None else SqlFault("WrongArguments", found.message, found.offset)


_NO_QUERIES = (exp.Command, exp.Create, exp.Delete, exp.Describe, exp.Drop, exp.Insert, exp.Merge, exp.Set, exp.Update)
"""Statements, and what the parser passes on unparsed."""

_WANTED = (
    *_NO_QUERIES,
    exp.Lateral,
    exp.Table,
    exp.TableAlias,
    exp.Column,
    exp.CTE,
    exp.Join,
    exp.Cast,
    exp.TryCast,
    exp.TableSample,
    exp.Limit,
    exp.Offset,
    exp.QueryTransform,
    exp.Anonymous,
    *MARKER_NODES,
)


def _collect(tree: Any) -> dict[type, list[Any]]:
    """Collects in one walk what all callers look for."""
    nodes: dict[type, list[Any]] = {kind: [] for kind in _WANTED}
    for node in tree.walk():
        found = nodes.get(type(node))
        if found is not None:
            found.append(node)
    return nodes


def _references(
    tables: list[Any], tokens: list[Token], path: DrivingPath
) -> tuple[tuple[TableReference, ...], tuple[SqlFault, ...]]:
    """Tables by name; what a WITH defines is none, and neither is a table function."""
    references: list[TableReference] = []
    faults: list[SqlFault] = []
    for table in tables:
        if table.find_ancestor(exp.Hint):
            continue
        parts = table.parts
        if not parts:
            message = "a relation without a name hides which table is read"
            faults.append(
                SqlFault("HiddenDependency", message, tokens[0].start, "name the table plainly, or with ref()")
            )
            continue
        if not all(isinstance(part, exp.Identifier) for part in parts):
            faults += _hidden_table(table, tokens)
            continue
        if cte_of(table) is not None:
            continue
        start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        name = ".".join(part.name for part in parts)
        if table.args.get("version") or table.args.get("when"):
            message = f"time travel is not supported in a model: {name} is read as the run's branch has it"
            faults.append(SqlFault("TimeTravel", message, start, "remove VERSION AS OF or TIMESTAMP AS OF"))
        names = tuple(part.name for part in parts)
        references.append(TableReference(names, start, end, table.alias or None, id(table) in path.tables, table))
    return tuple(sorted(references, key=lambda reference: reference.start)), tuple(faults)


def _calls(
    tables: list[Any], tokens: list[Token], path: DrivingPath, functions: Collection[str]
) -> Iterator[TableCall]:
    for table in tables:
        call = table.this
        if not isinstance(call, exp.Anonymous) or call.name.lower() not in functions or len(table.parts) > 1:
            continue
        start = offset_of(call)
        end = _closing(tokens, start)
        if end is not None:
            arguments = [_argument(given) for given in call.expressions]
            constant = None if None in arguments else tuple(given for given in arguments if given is not None)
            yield TableCall(call.name, constant, start, end, table.alias or None, id(table) in path.tables, table)


def _closing(tokens: list[Token], start: int) -> int | None:
    """The offset behind the parenthesis that closes the call that begins there."""
    depth = 0
    for token in tokens:
        if token.start <= start:
            continue
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth == 0:
            return token.end + 1 if token.token_type is TokenType.R_PAREN else None
    return None


def _argument(node: Any) -> tuple[str | None, FunctionValue] | None:
    if isinstance(node, exp.Kwarg):
        inner = _argument(node.expression)
        return (node.this.name, inner[1]) if inner is not None else None
    match node:
        case exp.Literal() if node.is_string:
            return None, str(node.this)
        case exp.Literal():
            return None, _number(str(node.this))
        case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
            number = _number(str(node.this.this))
            return None, -number if isinstance(number, int | float) else None
        case exp.Boolean():
            return None, bool(node.this)
        case exp.Null():
            return None, None
    return None


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)


def _names_a_table(lateral: Any) -> bool:
    """Spark reads `FROM LATERAL a.b` as the table a.b; the parser takes it for neither a table nor a call."""
    called = lateral.this.expression if isinstance(lateral.this, exp.Dot) else lateral.this
    return not isinstance(called, exp.Subquery | exp.Func | exp.UDTF)


def _hidden_by_lateral(lateral: Any) -> SqlFault:
    start = min(
        (name.meta["start"] for name in lateral.this.find_all(exp.Identifier) if "start" in name.meta), default=0
    )
    message = "LATERAL stands before a subquery, a table function or VIEW, not before a table"
    return SqlFault("HiddenDependency", message, start, "remove LATERAL")


def _hidden_table(table: Any, tokens: list[Token]) -> Iterator[SqlFault]:
    """IDENTIFIER('a.b') and TABLE(a.b) name a table where no parser can see which."""
    for call in table.find_all(exp.Anonymous):
        name = call.name.lower()
        if name in {"identifier", "table", "stream"}:
            called = (a for a, b in pairwise(tokens) if a.text.lower() == name and b.token_type is TokenType.L_PAREN)
            message = f"{name.upper()}(…) hides which table is read, so its order of building cannot be known"
            start = next((token.start for token in called), tokens[0].start)
            yield SqlFault("HiddenDependency", message, start, "name the table plainly, or with ref()")


def _syntax_error(text: str, error: ParseError) -> SqlFault:
    facts = error.errors[0] if error.errors else {}
    highlight = str(facts.get("highlight") or "")
    line, col = int(facts.get("line") or 1), int(facts.get("col") or 1)
    start_of_line = 0
    for _ in range(line - 1):
        start_of_line = text.find("\n", start_of_line) + 1
    offset = max(start_of_line, start_of_line + col - max(1, len(highlight)))
    what = str(facts.get("description") or error).rstrip(".")
    if what.startswith("Required keyword"):
        what = "something is missing after it"
    elif what.startswith("Invalid expression"):
        what = "it is not expected here"
    what = _TOKEN_DUMP.sub(lambda dump: f"'{dump[1]}'", what)
    near = f" at '{highlight}'" if highlight else ""
    message = f"the SQL is not understood{near}: {what[:1].lower() + what[1:]}"
    if highlight.isidentifier():
        help_ = f"if {highlight} is a name, write it in backticks: `{highlight}`; else see what is missing before it"
    else:
        help_ = "see whether a comma, a bracket or a quote is missing or too many before this place"
    return SqlFault("SqlSyntax", message, min(offset, len(text)), help_)


_TOKEN_DUMP = re.compile(r"<Token token_type: \S+ text: (.*?), line: \d+, .*?>", re.DOTALL)
"""How the parser shows a word in its messages."""


def _unclosed(text: str) -> SqlFault:
    closings = {"'": "'", '"': '"', "`": "`", "/*": "*/", "--": "\n"}
    offset = 0
    while offset < len(text):
        opening = next((mark for mark in closings if text.startswith(mark, offset)), None)
        if opening is None:
            offset += 1
            continue
        end = offset + len(opening)
        while end < len(text) and not text.startswith(closings[opening], end):
            end += 2 if text[end] == "\\" and opening in "'\"" else 1
        if end >= len(text) and opening != "--":
            what = "comment" if opening == "/*" else "quote"
            return SqlFault("SqlSyntax", f"the {what} that opens here is not closed", offset)
        offset = end + len(closings[opening])
    return SqlFault("SqlSyntax", "the SQL cannot be split into words", 0)


NOT_PERMITTED = frozenset({"CodeInQuery", "OutsideTheLake", "UnknownFunction"})
"""Faults of valid SQL that may not be run."""


def check_permissions(
    query: ParsedQuery, permissions: Permissions, *, model: bool = False
) -> tuple[tuple[SqlFault, ...], tuple[SqlFault, ...]]:
    """What the query does without permission, and its calls of unknown functions."""
    examination = PermissionCheck(query.text, query.tokens, query.tree, permissions, model=model)
    known = {(fault.code, fault.offset) for fault in query.faults}
    refused = tuple(SqlFault(*found) for found in examination.refusals() if (found.code, found.offset) not in known)
    if unread := [node for kind in _NO_QUERIES for node in query.nodes[kind]]:
        what = f"{type(unread[0]).__name__.upper()} has no place in a query"
        refused += (SqlFault("UnsupportedSyntax", what, query.start, "write one SELECT"),)
    unlisted = (SqlFault("UnknownFunction", *call) for call in examination.unlisted_calls())
    own = {call.start for call in query.calls}
    return refused, tuple(fault for fault in unlisted if fault.offset not in own)


def parse_permitted(text: str, permissions: Permissions) -> ParsedQuery | SqlFault:
    """A query that may be run, or its first fault."""
    query = parse_query(text, permissions.tables)
    if isinstance(query, SqlFault):
        return query
    refused, unlisted = check_permissions(query, permissions)
    return next(iter((*query.faults, *refused, *unlisted)), query)
