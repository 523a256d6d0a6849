"""A function of Spark: its result, how many arguments it takes and of which types; and one call of it.

`takes` of a function has a letter for each argument, in terms of Spark's implicit casts:
`s` anything that can be written as text, `T` text itself, `S` text or bytes, `x` bytes, `b` boolean, `i` int,
`l` bigint, `d` double, `n` any number (text is read as a double), `I` a whole number, `g` a number or an interval,
`D` date, `t` timestamp, `a` array, `m` map, `c` array or map, `v` variant, `o` anything that can be compared,
`h` anything without maps, `H` without maps and variants, `*` anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tidegate.compiler.analysis.coercion import cast_may_give_null, is_interval, is_orderable
from tidegate.compiler.analysis.expressions.typed import UNKNOWN, ExpressionScope, Typed, any_nullable, whole_digits
from tidegate.datatypes import ANY, BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType

__all__ = [
    "AGGREGATE",
    "ALWAYS",
    "GENERATOR",
    "IF_FIRST",
    "IF_FIRST_TWO",
    "NEVER",
    "PLAIN",
    "UNSURE",
    "WINDOW",
    "WRITTEN_AS",
    "Function",
    "FunctionCall",
    "accepts",
    "define",
]


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
        return not kind.is_nested
    if letter == "o":
        return is_orderable(kind)
    if letter == "g":
        return kind.kind in _NUMBER_LIKE or is_interval(kind)
    return letter not in "hH" or not kind.contains("map", *(() if letter == "h" else ("variant",)))


def _may_become_null(takes: str, place: int, kind: DataType) -> bool:
    """Whether the implicit cast to the type of the parameter may give NULL."""
    letter = _letter(takes, place)
    if letter in "ng":
        return kind.kind == "string"
    target = _TARGETS.get(letter)
    return target is not None and cast_may_give_null(kind, target)


def _mismatch_message(name: str, takes: str, place: int, kind: DataType) -> str:
    wanted = _WORDS[_letter(takes, place)]
    which = "" if len(takes) == 1 and place == 0 else f" as argument {place + 1}"
    return f"{name} takes {wanted}{which}, not {kind}"


WRITTEN_AS = "spark_name"
"""The key of a node's meta under which the parser may keep a function's name as it was written."""


class FunctionKind(IntEnum):
    PLAIN = 0
    AGGREGATE = 1
    WINDOW = 2
    GENERATOR = 3


class Nulls(IntEnum):
    """Whether a function's result may be NULL: if any argument may be, if the first (two) may be, never, always.

    UNSURE: if any argument may be, and else that is not known.
    """

    UNSURE = 0
    IF_ANY = 1
    IF_FIRST = 2
    IF_FIRST_TWO = 3
    NEVER = 4
    ALWAYS = 5


PLAIN, AGGREGATE, WINDOW, GENERATOR = FunctionKind
UNSURE, IF_ANY, IF_FIRST, IF_FIRST_TWO, NEVER, ALWAYS = Nulls


class FunctionCall:
    """One call. `args`: the type of each argument, UNKNOWN for lambdas and stars. `nodes`: their nodes."""

    __slots__ = ("args", "name", "node", "nodes", "scope", "type_body")

    def __init__(
        self,
        name: str,
        node: Any,
        nodes: Sequence[Any],
        args: list[Typed],
        scope: ExpressionScope,
        type_body: Callable[[Any, ExpressionScope, Sequence[Typed]], Typed],
    ) -> None:
        self.name = name
        self.node = node
        self.nodes = nodes
        self.args = args
        self.scope = scope
        self.type_body = type_body

    def type(self, index: int) -> DataType:
        return self.args[index].type if index < len(self.args) else ANY

    def types(self, start: int = 0) -> list[DataType]:
        return [arg.type for arg in self.args[start:]]

    def body(self, index: int, *variables: Typed) -> Typed:
        """The type of a lambda's body for variables of these types."""
        return self.type_body(self.nodes[index], self.scope, variables) if index < len(self.nodes) else UNKNOWN

    def text(self, index: int) -> str | None:
        """An argument that is written as a string."""
        node = self.nodes[index] if index < len(self.nodes) else None
        return str(node.this) if node is not None and getattr(node, "is_string", False) else None

    def digits(self, index: int) -> int:
        return whole_digits(self.nodes[index]) if index < len(self.nodes) else 0

    @property
    def written_name(self) -> str:
        """The name of the function as the query has it, where the parser kept it."""
        return str(self.node.meta.get(WRITTEN_AS, self.name)).lower()

    def report_mismatch(self, message: str, suggestion: str | None = None) -> Typed:
        self.scope.report("TypeMismatch", message, self.node, suggestion)
        return UNKNOWN


Rule = Callable[[FunctionCall], DataType | Typed]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of Spark."""

    name: str
    result: DataType | Rule
    """Its type, or the rule that derives it from a call."""
    least: int
    """The minimal number of arguments."""
    most: int | None
    """The maximal number of arguments; None: any number."""
    nulls: Nulls = Nulls.IF_ANY
    kind: FunctionKind = FunctionKind.PLAIN
    takes: str = ""
    """A letter for the type of each argument (see above), the last one for all that follow; empty: not known."""
    counts: tuple[int, ...] = ()
    """The allowed numbers of arguments, where not all from `least` to `most` are."""

    def accepts_count(self, count: int) -> bool:
        if self.counts:
            return count in self.counts
        return self.least <= count and (self.most is None or count <= self.most)

    @property
    def arity_text(self) -> str:
        """How many arguments it takes, in words."""
        if self.counts:
            return f"{', '.join(map(str, self.counts[:-1]))} or {self.counts[-1]} arguments"
        if self.most is None:
            return f"at least {_arguments(self.least)}"
        if self.least == self.most:
            return _arguments(self.least)
        between = "or" if self.most == self.least + 1 else "to"
        return f"{self.least} {between} {_arguments(self.most)}"

    @property
    def result_without_arguments(self) -> Typed:
        """The result where the arguments are wrong or unknown."""
        if not isinstance(self.result, DataType):
            return UNKNOWN
        certain = self.nulls in (Nulls.NEVER, Nulls.ALWAYS)
        return Typed(self.result, self.nulls is Nulls.ALWAYS if certain else None)

    def accepts(self, call: FunctionCall) -> bool:
        """Whether the arguments have types that the function takes; the first that has not is reported."""
        if self.takes:
            for place, arg in enumerate(call.args):
                if not accepts(self.takes, place, arg.type):
                    call.report_mismatch(_mismatch_message(call.written_name, self.takes, place, arg.type))
                    return False
        return True

    def typed(self, call: FunctionCall) -> Typed:
        if not self.accepts(call):
            return UNKNOWN
        result = self.result if isinstance(self.result, DataType) else self.result(call)
        if isinstance(result, Typed):
            return result
        return UNKNOWN if result.kind == "?" else Typed(result, self._nullable(call.args))

    def _nullable(self, args: list[Typed]) -> bool | None:
        nulls = self.nulls
        if nulls is Nulls.NEVER or nulls is Nulls.ALWAYS:
            return nulls is Nulls.ALWAYS
        if nulls is Nulls.IF_FIRST:
            return args[0].nullable if args else None
        if nulls is Nulls.IF_FIRST_TWO:
            args = args[:2]
        nullable = any_nullable(arg.nullable for arg in args)
        if nullable is not False:
            return nullable
        if nulls is Nulls.UNSURE or not self.takes:
            return None
        return any(_may_become_null(self.takes, place, arg.type) for place, arg in enumerate(args))


def _arguments(count: int) -> str:
    return "no arguments" if count == 0 else "1 argument" if count == 1 else f"{count} arguments"


def define(
    names: str,
    result: DataType | Rule,
    least: int,
    most: int | None = -1,
    nulls: Nulls = Nulls.IF_ANY,
    kind: FunctionKind = FunctionKind.PLAIN,
    takes: str = "",
    counts: tuple[int, ...] = (),
) -> list[Function]:
    """Functions that share one rule, by names separated by spaces. `most` left out: exactly `least` arguments."""
    most = least if most == -1 else most
    return [Function(name, result, least, most, nulls, kind, takes, counts) for name in names.split()]
