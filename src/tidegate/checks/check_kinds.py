"""One kind of check: its name, its parameters, its meaning, and the rule that a call of it becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.checks.check_parameters import (
    Arguments,
    Family,
    Mistake,
    Parameter,
    ParameterKind,
)
from tidegate.checks.check_values import CheckCall, CheckRule, Stage
from tidegate.datatypes import Relation

__all__ = ["ABOUT", "Build", "CheckKind", "OwnCheckError", "bind", "build_rule", "column", "mistakes", "operand"]

Build = Callable[[Arguments], CheckRule]

ABOUT = ("type", "name", "severity", "description", "tags", "remediation", "timeout")
"""Keys that every check may have in a settings file, so no parameter can have their names."""


class OwnCheckError(ValueError):
    """A check of the project's own that cannot be used. `line` of its file counts from 1."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class CheckKind:
    name: str

    stages: frozenset[Stage]
    """Where it may be declared by position."""

    parameters: tuple[Parameter, ...]

    meaning: str
    """A sentence for the docs."""

    nulls: str
    """What it does with NULL, for the docs."""

    empty: str
    """What it does with a table without rows, for the docs."""

    example: str
    build: Build

    keyed: bool = False
    """Declared in a settings file only, by the names of its parameters."""

    @property
    def signature(self) -> str:
        names = [f"[{p.name}]" if p.optional else p.name for p in self.parameters]
        return f"{self.name}({', '.join(names)})"

    def of_kind(self, *kinds: ParameterKind) -> tuple[tuple[int, Parameter], ...]:
        """The parameters of those kinds, each with its position."""
        return tuple((i, parameter) for i, parameter in enumerate(self.parameters) if parameter.kind in kinds)


def bind(kind: CheckKind, call: CheckCall, table: Relation, namespace: str = "", source: str = "") -> Arguments:
    """The arguments by parameter; their texts are not read yet."""
    args = zip(kind.parameters, call.arguments, strict=False)
    texts = {parameter.name: text for parameter, text in args if text or not parameter.optional}
    quoted = frozenset(parameter.name for at, parameter in enumerate(kind.parameters) if at in call.texts)
    return Arguments(texts, table, namespace, source, quoted)


def mistakes(kind: CheckKind, call: CheckCall, table: Relation, namespace: str = "", source: str = "") -> list[Mistake]:
    """Everything that is wrong with the arguments; empty where the call fits a table of these columns."""
    least = sum(not parameter.optional for parameter in kind.parameters)
    count, most = len(call.arguments), len(kind.parameters)
    if not least <= count <= most:
        takes = str(most) if least == most else f"{least} to {most}"
        message = f"{kind.name} takes {takes} argument{'' if takes == '1' else 's'}, not {count}: {kind.signature}"
        return [Mistake(message, "WrongCheckArgument", f"write for example {kind.example}")]
    mistakes = []
    args = bind(kind, call, table, namespace, source)
    for position, parameter in enumerate(kind.parameters):
        if not args.has(parameter.name):
            continue
        if call.keyed and not args.text(parameter.name):
            mistakes.append(
                Mistake(f"{kind.name} needs {parameter.name}", "WrongCheckArgument", f"add {parameter.name} = …")
            )
            continue
        try:
            args.read(parameter)
        except ValueError as error:
            mistake = _placed(error, position, kind)
            # Both ends of a range may be wrong for the same column.
            if str(mistake) not in map(str, mistakes):
                mistakes.append(mistake)
    if not mistakes:
        try:
            kind.build(args)
        except ValueError as error:
            mistakes.append(_placed(error, len(kind.parameters) - 1, kind))
    return mistakes


def build_rule(kind: CheckKind, call: CheckCall, table: Relation, namespace: str = "", source: str = "") -> CheckRule:
    """Raises the first Mistake, if there is one."""
    if wrong := mistakes(kind, call, table, namespace, source):
        raise wrong[0]
    return kind.build(bind(kind, call, table, namespace, source))


def _placed(error: ValueError, position: int | None, kind: CheckKind) -> Mistake:
    if isinstance(error, Mistake):
        return Mistake(str(error), error.code, error.suggestion, position)
    return Mistake(f"{kind.name}: {error}", "WrongCheckArgument", f"write for example {kind.example}", position)


def column(accepts: Family | None = None, name: str = "column") -> Parameter:
    return Parameter(name, ParameterKind.COLUMN, accepts)


def operand(kind: ParameterKind = ParameterKind.NUMBER, name: str = "value") -> tuple[Parameter, Parameter]:
    """`op, value`."""
    return Parameter("operator", ParameterKind.OPERATOR), Parameter(name, kind)
