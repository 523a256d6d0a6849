"""What a function's arguments may be, in Spark's terms of silent casts: a letter for each argument.

`s` anything that can be written as text, `T` text itself, `S` text or bytes, `x` bytes, `b` boolean, `i` int,
`l` bigint, `d` double, `n` any number (text is read as a double), `I` a whole number, `g` a number or an interval,
`D` date, `t` timestamp, `a` array, `m` map, `c` array or map, `v` variant, `o` anything that can be compared,
`h` anything without maps, `H` without maps and variants, `*` anything.
"""

from __future__ import annotations

from tidegate.compiler.analysis.coercion import is_interval, is_orderable, may_fail
from tidegate.datatypes import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType

__all__ = ["accepts", "may_become_null", "refusal"]

_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"})
_NUMBER_LIKE = _NUMBERS | {"string", "void"}
_DATES = frozenset({"date", "timestamp", "timestamp_ntz", "string", "void"})
_ACCEPTED = {
    "x": frozenset({"binary", "string", "void"}),
    "b": frozenset({"boolean", "string", "void"}),
    "i": _NUMBER_LIKE,
    "l": _NUMBER_LIKE,
    "d": _NUMBER_LIKE,
    "n": _NUMBER_LIKE,
    "I": frozenset({"tinyint", "smallint", "int", "bigint", "void"}),
    "D": _DATES,
    "t": _DATES,
    "T": frozenset({"string", "void"}),
    "a": frozenset({"array", "void"}),
    "m": frozenset({"map", "void"}),
    "c": frozenset({"array", "map", "void"}),
    "v": frozenset({"variant", "void"}),
}
_NESTED = frozenset({"array", "map", "struct"})
_TARGETS = {
    "s": STRING,
    "x": BINARY,
    "b": BOOLEAN,
    "i": INT,
    "l": BIGINT,
    "d": DOUBLE,
    "D": DATE,
    "t": TIMESTAMP,
}
_WORDS = {
    "s": "text",
    "S": "text or binary",
    "x": "binary",
    "b": "a boolean",
    "i": "a number",
    "l": "a number",
    "d": "a number",
    "n": "a number",
    "I": "a whole number",
    "D": "a date",
    "t": "a timestamp",
    "T": "text",
    "g": "a number or an interval",
    "a": "an array",
    "m": "a map",
    "c": "an array or a map",
    "v": "a variant",
    "o": "values that can be compared",
    "h": "values without maps",
    "H": "values without maps and variants",
}


def _letter(takes: str, place: int) -> str:
    return takes[place] if place < len(takes) else takes[-1]


def accepts(takes: str, place: int, kind: DataType) -> bool:
    if kind.kind == "?":
        return True
    letter = _letter(takes, place)
    accepted = _ACCEPTED.get(letter)
    if accepted is not None:
        return kind.kind in accepted
    if letter in "sS":
        return kind.kind not in _NESTED
    if letter == "o":
        return is_orderable(kind)
    if letter == "g":
        return kind.kind in _NUMBER_LIKE or is_interval(kind)
    return letter not in "hH" or not _holds(kind, ("map",) if letter == "h" else ("map", "variant"))


def _holds(kind: DataType, what: tuple[str, ...]) -> bool:
    if kind.kind == "struct":
        return any(_holds(field, what) for _, field in kind.args)
    return kind.kind in what or (kind.kind == "array" and _holds(kind.args[0], what))


def may_become_null(takes: str, place: int, kind: DataType) -> bool:
    """Whether the silent cast to what the function takes may give NULL."""
    letter = _letter(takes, place)
    if letter in "ng":
        return kind.kind == "string"
    target = _TARGETS.get(letter)
    return target is not None and may_fail(kind, target)


def refusal(name: str, takes: str, place: int, kind: DataType) -> str:
    wanted = _WORDS[_letter(takes, place)]
    which = "" if len(takes) == 1 and place == 0 else f" as argument {place + 1}"
    return f"{name} takes {wanted}{which}, not {kind}"
