"""Pieces of SQL text: edits, names, and expressions that mean the same when they are parsed again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from tidegate.compiler.analysis.scoping import column_parts
from tidegate.compiler.compiled import TableRead
from tidegate.compiler.sql.queries import ParsedQuery, parse_query
from tidegate.names import quote

__all__ = [
    "CANNOT_REWRITE",
    "READ_TOO_OFTEN",
    "STEPS",
    "CannotRewriteError",
    "Edit",
    "apply_edits",
    "condition",
    "expression_sql",
    "indented",
    "key_of",
    "name_text",
    "operand",
    "parenthesized",
    "same_meaning",
    "union",
    "values_sql",
]

CANNOT_REWRITE = "SQL that cannot be rewritten"
STEPS = "a query in steps (|>)"
READ_TOO_OFTEN = "a WITH that is read too often to be written out"


class CannotRewriteError(Exception):
    """`construct`: the part of the SQL that prevents a rewrite, as messages name it."""

    def __init__(self, construct: str) -> None:
        super().__init__(construct)
        self.construct = construct


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `text`; `reads` are the tables named in it, with offsets into it."""

    start: int
    end: int
    text: str
    reads: tuple[TableRead, ...] = ()


def apply_edits(text: str, edits: Iterable[Edit], start: int, end: int) -> tuple[str, tuple[TableRead, ...]]:
    """`text[start:end]` with the edits made, and the reads at their new offsets."""
    pieces: list[str] = []
    reads: list[TableRead] = []
    length, last = 0, start
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        unchanged = text[last : edit.start]
        length += len(unchanged)
        reads += [replace(read, start=read.start + length, end=read.end + length) for read in edit.reads]
        pieces += [unchanged, edit.text]
        length += len(edit.text)
        last = edit.end
    return "".join([*pieces, text[last:end]]), tuple(reads)


_SPARK = Dialect.get_or_raise("spark")


@lru_cache(maxsize=4096)
def name_text(name: str) -> str:
    """With quotes only where they are needed."""
    try:
        words = _SPARK.tokenize(name)
    except SqlglotError:
        return quote(name)
    plain = len(words) == 1 and words[0].token_type is TokenType.VAR and words[0].text == name and name.isascii()
    return name if plain and not name[:1].isdigit() else quote(name)


def expression_sql(tree: Any) -> str:
    """An expression as text. Raises CannotRewriteError where the text would be parsed as something else."""
    if isinstance(tree, exp.Column | exp.Dot) and (names := column_parts(tree)):
        return ".".join(name_text(part.name) for part in names)
    text = str(tree.sql("spark"))
    again = parse_query(f"SELECT {text}")
    if not isinstance(again, ParsedQuery) or not same_meaning(again.tree.expressions[0], tree):
        raise CannotRewriteError(f"{CANNOT_REWRITE}: {text}")
    return text


def values_sql(node: Any) -> str:
    """VALUES of a FROM, with their name. Raises CannotRewriteError where the text would be parsed as something else."""
    text = str(node.sql("spark"))
    again = parse_query(f"SELECT * FROM {text}")
    if not isinstance(again, ParsedQuery) or not same_meaning(again.tree.args["from_"].this, node):
        raise CannotRewriteError(f"{CANNOT_REWRITE}: {text}")
    return text


def operand(tree: Any) -> str:
    """As a side of a comparison."""
    is_closed = isinstance(tree, exp.Column | exp.Dot | exp.Literal | exp.Bracket) or (
        isinstance(tree, exp.Func) and not isinstance(tree, exp.Binary)
    )
    return expression_sql(tree) if is_closed else f"({expression_sql(tree)})"


def condition(tree: Any) -> str:
    """As one of several that must all hold."""
    return f"({expression_sql(tree)})" if isinstance(tree, exp.Or) else expression_sql(tree)


def same_meaning(one: Any, other: Any) -> bool:
    return bool(one == other or _plain(one) == _plain(other))


def _plain(tree: Any) -> Any:
    """Without the differences that the parser makes between two spellings of the same expression."""
    return tree.copy().transform(_plain_node)


def _plain_node(node: Any) -> Any:
    match node:
        case exp.DataType() if node.this in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ):
            return exp.DataType(this=exp.DType.TIMESTAMP)
        case exp.DataType():
            node.set("nested", None if not node.args.get("nested") else True)
        case exp.TryCast() if not node.args.get("safe"):
            return exp.Cast(this=node.this, to=node.args["to"])
        case exp.Cast() if type(node) is exp.Cast:
            return exp.Cast(this=node.this, to=node.args["to"])
        case exp.Concat():
            return exp.Concat(expressions=node.expressions)
        case exp.RawString():
            return exp.Literal.string(node.name)
        case exp.CurrentDate() if not node.this:
            return exp.column("current_date")
        case exp.WindowSpec():
            words = {key: value.upper() if isinstance(value, str) else value for key, value in node.args.items()}
            return exp.WindowSpec(**{"end": "CURRENT ROW", **{k: v for k, v in words.items() if v is not None}})
        case exp.Identifier():
            node.set("quoted", False)
        case exp.Column() if len(node.parts) > 2:
            names = [part.copy() for part in node.parts]
            made = exp.column(names[1], table=names[0])
            for field in names[2:]:
                made = exp.Dot(this=made, expression=field)
            return made
    return node


def key_of(tree: Any) -> str:
    """The same for the same expression, whatever the case of its names."""

    def low(node: Any) -> Any:
        return exp.to_identifier(node.name.lower(), quoted=True) if isinstance(node, exp.Identifier) else node

    return str(tree.transform(low).sql("spark"))


def parenthesized(text: str) -> str:
    """In parentheses, which a comment at its end must not hide."""
    return f"({text}\n)" if "--" in text[text.rfind("\n") + 1 :] else f"({text})"


def indented(text: str, by: str = "  ") -> str:
    """Unless a literal spans several lines, which indenting would change."""
    if any(mark in text for mark in "'\"`") and _has_long_word(text):
        return text
    return "\n".join(by + line if line else line for line in text.split("\n"))


def _has_long_word(text: str) -> bool:
    return any("\n" in text[word.start : word.end + 1] for word in _SPARK.tokenize(text))


def union(selects: Sequence[str]) -> str:
    """All of them, each row once."""
    unlike = list(dict.fromkeys(selects))
    if len(unlike) == 1:
        return unlike[0].replace("SELECT ", "SELECT DISTINCT ", 1)
    return "\nUNION\n".join(unlike)
