"""What the functions of a query do: change from run to run, aggregate, or generate rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from tidegate.compiler.analysis.functions.lookup import function_of, is_aggregate, is_generator
from tidegate.compiler.sql.queries import ParsedQuery
from tidegate.compiler.sql.scopes import offset_of

__all__ = [
    "NEVER_THE_SAME",
    "TIME_WORDS",
    "aggregates",
    "calls_unknown_function",
    "first_change",
    "generates",
    "own_nodes",
]

_NEVER_THE_SAME = """
curdate current_catalog current_database current_date current_path current_schema current_time current_timestamp
current_timezone current_user input_file_block_length input_file_block_start input_file_name java_method
localtimestamp monotonically_increasing_id now rand randn random randstr reflect session_user shuffle
spark_partition_id try_reflect uniform user uuid version
"""

_TIME_WORDS = "current_date current_time current_timestamp current_user localtimestamp session_user"

NEVER_THE_SAME = frozenset(_NEVER_THE_SAME.split())

TIME_WORDS = frozenset(_TIME_WORDS.split())
"""Functions that Spark also accepts without parentheses."""


_MOVING_LITERALS = {"now", "today", "tomorrow", "yesterday"}
SUSPECTS = frozenset(word.upper() for word in (*NEVER_THE_SAME, *TIME_WORDS, "unix_timestamp"))
"""Words of functions that may give another value each time."""


def first_change(query: ParsedQuery, words: Collection[str]) -> tuple[str, int] | None:
    """What makes the query give other rows another time, and where: a function, a literal, a choice of any rows.

    `words`: those of the query, in upper case.
    """
    if not SUSPECTS.isdisjoint(words) and (found := _changing_function(query)):
        return found
    for cast in (*query.nodes[exp.Cast], *query.nodes[exp.TryCast]):
        # DATE 'today' is read when the query runs.
        if isinstance(cast.this, exp.Literal) and cast.this.this.strip().lower() in _MOVING_LITERALS:
            return f"'{cast.this.this}'", offset_of(cast)
    for sample in query.nodes[exp.TableSample]:
        return "TABLESAMPLE", offset_of(sample.parent)
    for cut in (*query.nodes[exp.Limit], *query.nodes[exp.Offset]):
        if cut.parent is not None and not cut.parent.args.get("order"):
            return f"{cut.key.upper()} without ORDER BY", offset_of(cut.parent)
    return None


def calls_unknown_function(query: ParsedQuery) -> bool:
    """Whether it calls a function that is not Spark's own, or has a text that may stand for a moving date. Table
    functions of the project do not count."""
    if query.nodes[exp.QueryTransform]:
        return True
    if any(t.token_type is TokenType.STRING and t.text.strip().lower() in _MOVING_LITERALS for t in query.tokens):
        return True
    own = {id(call.node.this) for call in query.calls}
    return any(function_of(call) is None and id(call) not in own for call in query.nodes[exp.Anonymous])


def _changing_function(query: ParsedQuery) -> tuple[str, int] | None:
    kinds = [token.token_type for token in query.tokens] + [None, None]
    for i, token in enumerate(query.tokens):
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or (i and kinds[i - 1] is TokenType.DOT):
            continue
        word = token.text.lower()
        called = kinds[i + 1] is TokenType.L_PAREN
        if word in TIME_WORDS or (called and word in NEVER_THE_SAME):
            return f"{word}()", token.start
        if word == "unix_timestamp" and called and kinds[i + 2] is TokenType.R_PAREN:
            return "unix_timestamp()", token.start
    return None


def own_nodes(tree: Any, kind: Any) -> Iterator[Any]:
    """Nodes of a kind, without those of inner queries."""
    if tree is None:
        return
    for node in tree.walk(prune=lambda node: isinstance(node, exp.Query)):
        if isinstance(node, kind):
            yield node


def aggregates(tree: Any) -> bool:
    """Outside of windows, of which it may be an argument."""
    if isinstance(tree, exp.Query):
        return False
    if isinstance(tree, exp.Window):
        inner = tree.this
        return any(aggregates(child) for child in inner.iter_expressions()) or any(
            aggregates(child) for key, child in tree.args.items() if key != "this" and isinstance(child, exp.Expr)
        )
    if is_aggregate(tree):
        return True
    return any(aggregates(child) for child in tree.iter_expressions())


def generates(tree: Any) -> bool:
    return any(is_generator(node) for node in own_nodes(tree, exp.Expr))
