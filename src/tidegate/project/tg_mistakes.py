"""What people write after `tg.` who know other tools, and what to write instead."""

from __future__ import annotations

import ast

from tidegate.names import nearest
from tidegate.problems import Place, Problem, did_you_mean
from tidegate.python_inputs import TG_NAMES

__all__ = ["conditions", "unknown_name", "wrong_use"]

_CALLED = frozenset({"is_incremental", "is_scd2"})
_VALUES = frozenset({"watermark_value", "run_started_at", "start_date", "end_date"})
_SESSION = "there is no session: read with tg.ref or tg.sql, and return rows that the code makes as pandas or PyArrow"
_OTHER_TOOLS = {
    **dict.fromkeys(("spark", "session", "createDataFrame", "create_dataframe", "table", "read"), _SESSION),
    "config": 'settings are comments at the top, # @merge_strategy: …, or @tg.model(strategy="…") above the function',
    "source": "read tables with tg.ref, and files with tg.landing_zone",
    "env_var": "use tg.var, with --var or [vars] in tidegate.toml",
}


def unknown_name(name: str, place: Place) -> Problem:
    near = did_you_mean(tuple(f"tg.{known}" for known in nearest(name, TG_NAMES)))
    listed = f"it has {', '.join(f'tg.{known}' for known in sorted(TG_NAMES))}"
    instead = _OTHER_TOOLS.get(name)
    fix = f"{instead}; {listed}" if instead else near or listed
    return Problem("UnknownTgName", f"there is no tg.{name}", place, suggestion=fix)


def conditions(tree: ast.Module) -> frozenset[int]:
    """The ids of the expressions that are asked whether they are true."""
    asked: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            asked.append(node.test)
        elif isinstance(node, ast.BoolOp):
            asked += node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            asked.append(node.operand)
        elif isinstance(node, ast.comprehension):
            asked += node.ifs
    return frozenset(map(id, asked))


def wrong_use(name: str, place: Place, *, called: bool, asked: bool) -> Problem | None:
    """A function that is asked for its truth without being called is always true."""
    if name in _CALLED and asked and not called:
        message = f"tg.{name} is a function, so without a call this is always true"
        return Problem("UnknownTgName", message, place, suggestion=f"write tg.{name}()")
    if name in _VALUES and called:
        message = f"tg.{name} is a value and cannot be called"
        return Problem("UnknownTgName", message, place, suggestion=f"write tg.{name}")
    return None
