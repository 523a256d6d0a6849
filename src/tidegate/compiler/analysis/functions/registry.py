"""Every function that Spark has, by name."""

from __future__ import annotations

from tidegate.compiler.analysis.functions.aggregates import AGGREGATES
from tidegate.compiler.analysis.functions.collections import COLLECTIONS
from tidegate.compiler.analysis.functions.documents import DOCUMENTS
from tidegate.compiler.analysis.functions.general import GENERAL
from tidegate.compiler.analysis.functions.generators import GENERATORS
from tidegate.compiler.analysis.functions.numbers import NUMBERS
from tidegate.compiler.analysis.functions.text import TEXT
from tidegate.compiler.analysis.functions.times import TIMES
from tidegate.compiler.analysis.functions.values import Function

__all__ = ["FUNCTIONS", "NAMES"]

FUNCTIONS: dict[str, Function] = {
    function.name: function
    for group in (AGGREGATES, COLLECTIONS, DOCUMENTS, GENERAL, GENERATORS, NUMBERS, TEXT, TIMES)
    for function in group
}

_SYNTAX = """
and array between boolean case cast date dateadd double extract float identifier if in int map named_struct not or
string struct timestamp when
"""

NAMES = frozenset([*FUNCTIONS, *_SYNTAX.split()])
"""Also what the parser takes as syntax, however it is written."""
