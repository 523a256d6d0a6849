"""Checks as directives and settings files declare them → `Check` values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from tidegate.checks.check_kinds import ABOUT, CheckKind, OwnCheckError
from tidegate.checks.check_parameters import Parameter, ParameterKind
from tidegate.checks.check_registry import BUILT_IN, DIRECTIVES, KEYED, SQL_TYPE
from tidegate.checks.check_values import Check, CheckCall, Stage
from tidegate.checks.own_checks import read_own_check
from tidegate.checks.parsing import MalformedCall, argument_text, call_text, parse_call
from tidegate.config import parse_duration
from tidegate.names import nearest
from tidegate.problems import Place, Problem, Severity, did_you_mean
from tidegate.project.directives import Directive, read_directives, split_list
from tidegate.project.model import Materialized, ModelSettings
from tidegate.project.settings_files import SourceNode
from tidegate.sql_literals import is_number

__all__ = [
    "ANNOTATIONS",
    "CHECKS_FOLDER",
    "CHECK_KEYS",
    "Declared",
    "OwnChecks",
    "declared_checks",
    "freshness_check",
    "own_and_inherited",
    "own_check_files",
    "read_own_checks",
    "read_quality_test",
]


CHECK_KEYS = frozenset({*DIRECTIVES, "checks"})


@dataclass(slots=True)
class Declared:
    checks: list[Check] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, code: str, message: str, place: Place, suggestion: str | None = None) -> None:
        self.problems.append(Problem(code, message, place, suggestion=suggestion))


def declared_checks(key: str, node: SourceNode, own: Mapping[str, CheckKind], in_header: bool = False) -> Declared:
    """`node`: the value of one of CHECK_KEYS in a directive or a settings file; a list, or one item.

    `in_header`: the place of the node is where its text begins, so that those of arguments are known too.
    """
    declarations = Declared()
    for item in node.value if isinstance(node.value, list) else (node,):
        if key == "checks":
            _from_table(item, own, declarations)
        elif isinstance(item.value, str):
            _from_text(DIRECTIVES[key], item.value, item.place, in_header, declarations)
        else:
            declarations.refuse("MalformedCheck", f"{key} must be text such as not_null(order_id)", item.place)
    return declarations


def own_and_inherited(
    own: Iterable[Check], inherited: Iterable[Check]
) -> tuple[tuple[Check, ...], tuple[Problem, ...]]:
    """All checks of a model: its own go before those that it has from folders above it, and none may be there twice."""
    checks: dict[tuple[Stage, str], Check] = {}
    problems = []
    for check in own:
        first = checks.setdefault((check.stage, check.name), check)
        if first is not check:
            where = f"line {first.place.line}" + (
                "" if first.place.file == check.place.file else f" of {first.place.file}"
            )
            message = f"check '{check.name}' is declared twice; the first is in {where}"
            problems.append(
                Problem("DuplicateCheck", message, check.place, suggestion="remove it, or give it another name")
            )
    above: dict[tuple[Stage, str], Check] = {}
    for check in inherited:
        # The nearest folder comes last, and may set the severity of a check.
        above[check.stage, check.name] = check
    return (*checks.values(), *(check for key, check in above.items() if key not in checks)), tuple(problems)


def _from_text(stage: Stage, text: str, place: Place, in_header: bool, declarations: Declared) -> None:
    try:
        call, severity = parse_call(text, place.col)
    except MalformedCall as error:
        at = Place(place.file, place.line, place.col + error.offset) if in_header else place
        declarations.refuse("MalformedCheck", str(error), at)
        return
    if not in_header:
        call = replace(call, columns=())
    if stage is Stage.AFTER_PUBLISH:
        if severity is Severity.ERROR:
            message = "a warning is looked at after the publish, so it cannot be an error"
            declarations.refuse("MalformedCheck", message, place, "leave out 'error', or make it an audit")
            return
        severity = Severity.WARN
    declarations.checks.append(Check(_name(call), stage, place, call, severity or Severity.ERROR))


def _name(call: CheckCall) -> str:
    """`check` gives its rule a name of its own."""
    return call.arguments[0] if call.name == "check" and len(call.arguments) == 2 else call_text(call)


def _from_table(node: SourceNode, own: Mapping[str, CheckKind], declarations: Declared) -> None:
    if not isinstance(node.value, dict):
        declarations.refuse("MalformedCheck", "a check is written as a table with a type", node.place)
        return
    keys: Mapping[str, SourceNode] = node.value
    place = _first_place(node)
    kind_name = keys["type"].value if "type" in keys else None
    if not isinstance(kind_name, str):
        declarations.refuse("MalformedCheck", "a check needs a type", place, 'write for example type = "not_null"')
        return
    about = _about(keys, place, declarations)
    if kind_name == SQL_TYPE:
        _from_sql(keys, about, place, declarations)
        return
    kinds = {**own, **KEYED}
    kind = kinds.get(kind_name)
    if kind is None and kind_name in BUILT_IN:
        declarations.refuse(
            "MisplacedCheck", f"{kind_name} can only be a warning", keys["type"].place, "write it as @warning"
        )
        return
    if kind is None:
        fix = did_you_mean(nearest(kind_name, (*kinds, SQL_TYPE))) or "docs/checks.md lists the checks"
        declarations.refuse("UnknownCheck", f"there is no check '{kind_name}'", keys["type"].place, fix)
        return
    nodes = _argument_nodes(kind, keys, declarations)
    arguments, places, texts = [], [], []
    for at, parameter in enumerate(kind.parameters):
        one = nodes.get(parameter.name)
        arguments.append("" if one is None else _text(one, parameter, declarations))
        places.append(place if one is None else one.place)
        if one is not None and isinstance(one.value, str) and is_number(one.value):
            texts.append(at)
    call = CheckCall(
        kind.name,
        tuple(arguments),
        tuple(where.col for where in places),
        keyed=True,
        lines=tuple(where.line for where in places),
        texts=tuple(texts),
    )
    declarations.checks.append(replace(about, name=about.name or _keyed_name(call), call=call))


def _keyed_name(call: CheckCall) -> str:
    return call_text(CheckCall(call.name, tuple(filter(None, call.arguments))))


def _first_place(node: SourceNode) -> Place:
    """A table of an array is where its first key is, for the array is where its first table is."""
    places = [inner.place for inner in node.value.values()]
    return min(places, key=lambda at: (at.line, at.col)) if places else node.place


def _from_sql(keys: Mapping[str, SourceNode], about: Check, place: Place, declarations: Declared) -> None:
    _refuse_others(keys, (SQL_TYPE,), SQL_TYPE, declarations)
    query = keys.get(SQL_TYPE)
    if query is None or not isinstance(query.value, str) or not query.value.strip():
        declarations.refuse("WrongCheckArgument", "a check of type sql needs sql", place, 'write sql = "SELECT …"')
        return
    # The lines of the query are those of the file, so that errors in it have the right line.
    above = query.place.line if "\n" in query.value else query.place.line - 1
    name = about.name or f"sql in line {query.place.line}"
    declarations.checks.append(replace(about, name=name, place=query.place, source="\n" * above + query.value))


def _argument_nodes(kind: CheckKind, keys: Mapping[str, SourceNode], declarations: Declared) -> dict[str, SourceNode]:
    """The node of each parameter, by its first name."""
    names = {name: parameter for parameter in kind.parameters for name in (parameter.name, *parameter.also)}
    _refuse_others(keys, names, kind.name, declarations)
    nodes: dict[str, SourceNode] = {}
    for key, node in keys.items():
        if key in names and key not in ABOUT:
            if names[key].name in nodes:
                declarations.refuse("WrongCheckArgument", f"'{key}' says the same as '{names[key].name}'", node.place)
            nodes[names[key].name] = node
    return nodes


def _refuse_others(keys: Mapping[str, SourceNode], names: Iterable[str], kind: str, declarations: Declared) -> None:
    allowed = (*names, *ABOUT)
    for key, node in keys.items():
        if key not in allowed:
            fix = did_you_mean(nearest(key, allowed)) or f"known are {', '.join(allowed)}"
            declarations.refuse("WrongCheckArgument", f"check {kind} has no key '{key}'", node.place, fix)


def _text(node: SourceNode, parameter: Parameter, declarations: Declared) -> str:
    if isinstance(node.value, list) and parameter.kind in (ParameterKind.LIST, ParameterKind.COLUMNS):
        return ", ".join(argument_text(_plain(item)) for item in node.value)
    if isinstance(node.value, list | dict) or node.value is None:
        declarations.refuse("WrongCheckArgument", f"{parameter.name} must be text or a number", node.place)
        return "?"
    return _plain(node)


def _plain(node: SourceNode) -> str:
    return str(node.value).lower() if isinstance(node.value, bool) else node.text or str(node.value)


def _about(keys: Mapping[str, SourceNode], place: Place, declarations: Declared) -> Check:
    """The check without its call or query."""

    def text(key: str) -> str:
        node = keys.get(key)
        if node is None:
            return ""
        if not isinstance(node.value, str):
            declarations.refuse("WrongCheckArgument", f"{key} must be text", node.place)
            return ""
        return node.value.strip()

    severity, written = Severity.ERROR, text("severity").lower()
    if written in tuple(Severity):
        severity = Severity(written)
    elif written:
        message = f"severity must be error or warn, not '{written}'"
        declarations.refuse(
            "WrongCheckArgument", message, keys["severity"].place, did_you_mean(nearest(written, tuple(Severity)))
        )
    timeout: timedelta | None = None
    try:
        timeout = parse_duration(text("timeout")) if "timeout" in keys else None
    except ValueError as error:
        declarations.refuse("WrongCheckArgument", f"timeout: {error}", keys["timeout"].place)
    return Check(
        name=text("name"),
        stage=Stage.BEFORE_PUBLISH,
        place=place,
        severity=severity,
        description=text("description"),
        tags=tuple(_tags(keys.get("tags"), declarations)),
        remediation=text("remediation"),
        timeout=timeout,
    )


def _tags(node: SourceNode | None, declarations: Declared) -> Iterator[str]:
    value: Any = node.value if node else None
    try:
        if isinstance(value, str):
            yield from split_list(value)
        elif isinstance(value, list):
            yield from (str(item.value) for item in value)
        elif node is not None:
            raise ValueError("must be a list of words")
    except ValueError as error:
        assert node is not None
        declarations.refuse("WrongCheckArgument", f"tags: {error}", node.place)


def freshness_check(settings: ModelSettings, place: Place) -> Check | Problem | None:
    """None without a freshness setting or a table; a problem where there is no column to check."""
    freshness = settings.freshness
    if freshness is None or settings.materialized is Materialized.EPHEMERAL:
        return None
    column = freshness.column or settings.watermark_column or settings.time_column
    if column is None:
        return Problem(
            "FreshnessColumn",
            f"freshness {freshness.age} is not checked: it names no column, and the model has no watermark_column or"
            " time_column",
            place,
            Severity.WARN,
            f"name the column that says how old a row is: @freshness: updated_at {freshness.age}",
        )
    call = CheckCall("freshness", (column, freshness.age))
    stage, severity = (
        (Stage.BEFORE_PUBLISH, Severity.ERROR) if freshness.audit else (Stage.AFTER_PUBLISH, Severity.WARN)
    )
    return Check(call_text(call), stage, place, call, severity)


CHECKS_FOLDER = "checks"
_OWN_ENDINGS = (".sql", ".py")


@dataclass(slots=True)
class OwnChecks:
    """By name: what each check is, and its file with the text of it."""

    kinds: dict[str, CheckKind] = field(default_factory=dict)
    files: dict[str, tuple[str, str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def own_check_files(root: Path) -> list[str]:
    """Relative to the project, those in SQL first."""
    try:
        names = sorted(os.listdir(root / CHECKS_FOLDER))
    except OSError:
        return []
    names = [name for name in names if not name.startswith((".", "__"))]
    return [f"{CHECKS_FOLDER}/{name}" for ending in _OWN_ENDINGS for name in names if name.endswith(ending)]


def read_own_checks(files: Iterable[tuple[str, str]]) -> OwnChecks:
    """From paths and texts."""
    own_checks = OwnChecks()
    names = {*BUILT_IN, *KEYED, SQL_TYPE}
    for path, text in files:
        name = PurePosixPath(path).stem
        if not name.isidentifier() or name in names:
            why = "there is a check of that name already" if name.isidentifier() else "it cannot be called by that name"
            own_checks.problems.append(
                Problem("InvalidOwnCheck", f"{why}: '{name}'", Place(path), suggestion="rename the file")
            )
            continue
        names.add(name)
        try:
            own_checks.kinds[name] = read_own_check(name, text, path)
            own_checks.files[name] = path, text
        except OwnCheckError as error:
            own_checks.problems.append(Problem("InvalidOwnCheck", str(error), Place(path, error.line)))
    return own_checks


ANNOTATIONS = ("severity", "description", "timeout", "tags", "remediation")


def read_quality_test(file: str, source: str) -> tuple[Check, tuple[Problem, ...]]:
    """The test and what is wrong with its annotations. `file` is relative to the project."""
    directives, form = read_directives(source, file, ANNOTATIONS)
    problems = list(form)
    annotations: dict[str, Directive] = {}
    for directive in directives:
        if directive.key in annotations:
            problems.append(Problem("RepeatedSetting", f"@{directive.key} is set twice", directive.place))
        annotations.setdefault(directive.key, directive)

    def text(key: str) -> str:
        return annotations[key].value if key in annotations else ""

    severity, timeout, tags = Severity.ERROR, None, tuple[str, ...]()
    if "severity" in annotations:
        try:
            severity = Severity(text("severity").lower())
        except ValueError:
            suggestion = did_you_mean(nearest(text("severity"), tuple(Severity), 1))
            message = f"severity must be error or warn, not '{text('severity')}'"
            problems.append(Problem("InvalidSetting", message, annotations["severity"].place, suggestion=suggestion))
    try:
        timeout = parse_duration(text("timeout")) if "timeout" in annotations else None
    except ValueError as error:
        problems.append(Problem("InvalidSetting", f"timeout: {error}", annotations["timeout"].place))
    try:
        tags = split_list(text("tags")) if "tags" in annotations else ()
    except ValueError as error:
        problems.append(Problem("InvalidSetting", f"tags: {error}", annotations["tags"].place))
    check = Check(
        name=PurePosixPath(file).stem,
        stage=Stage.BEFORE_PUBLISH,
        place=Place(file),
        severity=severity,
        description=text("description"),
        tags=tags,
        remediation=text("remediation"),
        timeout=timeout,
        source=source,
    )
    return check, tuple(problems)
