"""What is known of a function of Spark, and one call of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tidegate.compiler.analysis.functions.parameters import accepts, may_become_null, refusal
from tidegate.compiler.analysis.literals import whole_digits
from tidegate.compiler.analysis.values import UNKNOWN, Scope, Typed
from tidegate.datatypes import ANY, DataType

__all__ = [
    "AGGREGATE",
    "ALWAYS",
    "GENERATOR",
    "IF_ANY",
    "IF_FIRST",
    "IF_FIRST_TWO",
    "NEVER",
    "PLAIN",
    "UNSURE",
    "WINDOW",
    "WRITTEN_AS",
    "Call",
    "Function",
    "of",
]


WRITTEN_AS = "spark_name"
"""The key of a node's meta under which the parser may keep a function's name as it was written."""


class Kind(IntEnum):
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


PLAIN, AGGREGATE, WINDOW, GENERATOR = Kind
UNSURE, IF_ANY, IF_FIRST, IF_FIRST_TWO, NEVER, ALWAYS = Nulls


class Call:
    """`args`: what is known of each argument; lambdas and stars are UNKNOWN there. `nodes`: as they are written."""

    __slots__ = ("args", "name", "node", "nodes", "scope", "type_body")

    def __init__(
        self,
        name: str,
        node: Any,
        nodes: Sequence[Any],
        args: list[Typed],
        scope: Scope,
        type_body: Callable[[Any, Scope, Sequence[Typed]], Typed],
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
        """What a lambda gives for such variables."""
        return self.type_body(self.nodes[index], self.scope, variables) if index < len(self.nodes) else UNKNOWN

    def text(self, index: int) -> str | None:
        """An argument that is written as a string."""
        node = self.nodes[index] if index < len(self.nodes) else None
        return str(node.this) if node is not None and getattr(node, "is_string", False) else None

    def digits(self, index: int) -> int:
        return whole_digits(self.nodes[index]) if index < len(self.nodes) else 0

    @property
    def shown(self) -> str:
        """The function's name as it was written, where the parser kept that."""
        return str(self.node.meta.get(WRITTEN_AS, self.name)).lower()

    def refuse(self, message: str, suggestion: str | None = None) -> Typed:
        self.scope.report("TypeMismatch", message, self.node, suggestion)
        return UNKNOWN


Rule = Callable[[Call], DataType | Typed]


@dataclass(frozen=True, slots=True)
class Function:
    """`result`: its type, or how that follows from a call; `least` and `most` arguments (`most` None: any number).

    `takes`: what each argument may be, a letter each (see `parameters`), the last one for all that follow. Empty:
    that is not known here.
    """

    name: str
    result: DataType | Rule
    least: int
    most: int | None
    nulls: Nulls = Nulls.IF_ANY
    kind: Kind = Kind.PLAIN
    takes: str = ""
    counts: tuple[int, ...] = ()
    """Where not every number from `least` to `most` will do."""

    def takes_count(self, count: int) -> bool:
        if self.counts:
            return count in self.counts
        return self.least <= count and (self.most is None or count <= self.most)

    @property
    def wanted(self) -> str:
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
    def result_alone(self) -> Typed:
        """What is known without knowing the arguments."""
        if not isinstance(self.result, DataType):
            return UNKNOWN
        certain = self.nulls in (Nulls.NEVER, Nulls.ALWAYS)
        return Typed(self.result, self.nulls is Nulls.ALWAYS if certain else None)

    def accepts(self, call: Call) -> bool:
        """Whether the arguments can be what the function takes; reports the first that cannot."""
        if self.takes:
            for place, arg in enumerate(call.args):
                if not accepts(self.takes, place, arg.type):
                    call.refuse(refusal(call.shown, self.takes, place, arg.type))
                    return False
        return True

    def typed(self, call: Call) -> Typed:
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
        found = if_any(args)
        if found is not False:
            return found
        if nulls is Nulls.UNSURE or not self.takes:
            return None
        return any(may_become_null(self.takes, place, arg.type) for place, arg in enumerate(args))


def _arguments(count: int) -> str:
    return "no arguments" if count == 0 else "1 argument" if count == 1 else f"{count} arguments"


def if_any(args: Sequence[Typed]) -> bool | None:
    """Nullable if any of them is."""
    found: bool | None = False
    for arg in args:
        if arg.nullable:
            return True
        if arg.nullable is None:
            found = None
    return found


def of(
    names: str,
    result: DataType | Rule,
    least: int,
    most: int | None = -1,
    nulls: Nulls = Nulls.IF_ANY,
    kind: Kind = Kind.PLAIN,
    takes: str = "",
    counts: tuple[int, ...] = (),
) -> list[Function]:
    """Functions that follow one rule. `most` left out: exactly `least` arguments."""
    most = least if most == -1 else most
    return [Function(name, result, least, most, nulls, kind, takes, counts) for name in names.split()]
