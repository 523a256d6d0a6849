"""One thing in Python code that is not allowed."""

from __future__ import annotations

import ast
from typing import NamedTuple

__all__ = ["CodeProblem", "problem_at"]


class CodeProblem(NamedTuple):
    """`line` and `col` count from 1."""

    line: int
    col: int
    code: str
    message: str
    suggestion: str


def problem_at(node: ast.AST, code: str, message: str, suggestion: str) -> CodeProblem:
    return CodeProblem(getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1, code, message, suggestion)
