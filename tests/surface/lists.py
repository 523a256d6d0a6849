"""The recorded lists: a file in tests/cases/surface for each, one entry a line, in order."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import click

from tests.surface.documents import callback_of, commands, json_documents
from tests.surface.environment import variables_of_hooks, variables_read
from tests.surface.evaluate import Evaluator
from tests.surface.events import event_lines
from tests.surface.settings import setting_lines
from tests.surface.shape import Callee, paths
from tests.surface.source import Definition, source

FOLDER = Path(__file__).parents[1] / "cases" / "surface"

_STATUSES = ("success", "skipped", "partial", "failed", "cancelled")


@cache
def _evaluator() -> Evaluator:
    return Evaluator(source())


@cache
def _program() -> click.Group:
    group = source().value("cli")
    assert isinstance(group, click.Group)
    return group


def command_lines() -> set[str]:
    """Each command, and each of its arguments and options with all names, what it takes and its default."""
    return {line for name, command in commands(_program()) for line in (name, *_parameters(name, command))}


def _parameters(name: str, command: click.Command) -> Iterator[str]:
    program = _program()
    context = click.Context(command, parent=click.Context(program, **program.context_settings))
    for position, parameter in enumerate(p for p in command.params if isinstance(p, click.Argument)):
        form = f"{'' if parameter.required else 'optional '}{_type(parameter)}{' ...' if parameter.nargs == -1 else ''}"
        yield f"{name} argument {position + 1}: {parameter.make_metavar(context)} ({form})"
    # A command keeps the option for help that it made for whoever asked first, with that one's names.
    yield f"{name} {', '.join(sorted(command.get_help_option_names(context), key=len))} (flag)"
    for parameter in command.params:
        if not isinstance(parameter, click.Option):
            continue
        words = ", ".join(parameter.opts) + "".join(f" / {each}" for each in parameter.secondary_opts)
        repeated = ", repeatable" if parameter.multiple else ""
        default = parameter.default if isinstance(parameter.default, str | int | float | Path) else None
        shown = "" if default is None or parameter.is_flag else f", default {default}"
        yield f"{name} {words} ({'flag' if parameter.is_flag else _type(parameter)}{repeated}{shown})"


def _type(parameter: click.Parameter) -> str:
    kind = parameter.type
    if isinstance(kind, click.IntRange | click.FloatRange):
        return f"{kind.name} from {kind.min}" + (f" to {kind.max}" if kind.max is not None else "")
    return "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else kind.name


def json_lines() -> set[str]:
    documents = json_documents(source(), _evaluator(), _program())
    return {f"{name}: {path}" for name, shape in documents.items() for path in paths(shape)}


def exit_code_lines() -> set[str]:
    """What each command may return, how a run's status ends the program, and the codes of errors."""
    found = {f"run that is {status}: {_exit_code(status)}" for status in _STATUSES}
    for name, command in commands(_program()):
        module, function = callback_of(source(), command)
        codes = _evaluator().body(Callee(module, function), {}).numbers or {0}
        found |= {f"{name}: {code}" for code in codes}
    run = source().one("_run_command")
    assert isinstance(run.node, ast.FunctionDef)
    codes = _evaluator().body(Callee(run.module, run.node), {}).numbers
    return found | {f"any command: {code}" for code in codes}


def _exit_code(status: str) -> int:
    code: int = source().value("RunResult").exit_code.fget(SimpleNamespace(status=status))
    return code


def error_lines() -> set[str]:
    """Each class of error with what it derives from, its kind and its exit code; and each kind of failure."""
    found = {f"kind {kind.name}: {kind.value}" for kind in source().value("FailureKind")}
    top = source().one("TidegateError")
    for module in source().modules.values():
        if not re.search(r"^class \w+\(\w*Error\)", module.text, re.MULTILINE):
            continue
        for name, node in module.names.items():
            definition = source().definition(module, name)
            if isinstance(node, ast.ClassDef) and definition and top in _evaluator().bases(definition):
                found.add(f"{name}({', '.join(ast.unparse(base) for base in node.bases)}){_facts(definition)}")
    return found


def _facts(definition: Definition) -> str:
    return "".join(f" {name}={value}" for name in ("kind", "exit_code") if (value := _class_value(definition, name)))


def _class_value(definition: Definition, name: str) -> str | None:
    for base in _evaluator().bases(definition):
        assert isinstance(base.node, ast.ClassDef)
        for node in base.node.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = getattr(node, "value", None)
            if value is not None and any(isinstance(each, ast.Name) and each.id == name for each in targets):
                return ast.unparse(value)
    return None


def diagnostic_lines() -> set[str]:
    return {f"{code} {kind.severity}" for code, kind in source().value("registry")().items()}


def fault_point_lines() -> set[str]:
    points = source().value("FAULT_POINTS").items()
    return {f"{name}{' (of a model)' if point.of_model else ''}" for name, point in points}


def hook_lines() -> set[str]:
    """The document that hooks get of each event, as real calls make it, in the form of each service."""
    payload_of, sample_event = source().value("payload_of"), source().value("sample_event")
    preset_document, events = source().value("preset_document"), source().value("HOOK_EVENTS")
    found = {f"environment of a command: {name}" for name in variables_of_hooks(source(), _evaluator())}
    found |= {f"callback: {path}" for path in _callback_paths()}
    for name in events:
        payload = payload_of(sample_event(name, datetime.now(UTC)), "shop", "run", name)
        found |= {f"payload: {key}" for key in payload}
        for preset in source().value("PRESETS"):
            if preset != "generic":
                key = SimpleNamespace(reveal=lambda: "key")
                document = preset_document(SimpleNamespace(preset=preset, key=key), {**payload, "data": {}})
                found |= {f"{preset}: {path}" for path in document_paths(document)}
    return found


def _callback_paths() -> set[str]:
    definition = source().one("send_callback")
    assert isinstance(definition.node, ast.FunctionDef)
    written = [node for node in ast.walk(definition.node) if isinstance(node, ast.Call)]
    sent = next(node for node in written if getattr(node.func, "id", "") == "json_text")
    return paths(_evaluator().shape(sent.args[0], _evaluator().scope_around(definition.module, sent)))


def document_paths(value: object, before: str = "") -> set[str]:
    """Of a real document, in the form that `paths` has."""
    found: set[str] = set()
    if isinstance(value, Mapping):
        for name, part in value.items():
            here = f"{before}.{name}" if before else str(name)
            found |= {here} | document_paths(part, here)
    elif isinstance(value, list | tuple):
        for part in value:
            found |= document_paths(part, f"{before}[]")
    return found


LISTS: Mapping[str, Callable[[], set[str]]] = {
    "commands": command_lines,
    "settings": lambda: setting_lines(source(), _evaluator()),
    "environment": lambda: variables_read(source(), _evaluator()),
    "diagnostics": diagnostic_lines,
    "errors": error_lines,
    "exit_codes": exit_code_lines,
    "events": lambda: event_lines(source(), _evaluator()),
    "fault_points": fault_point_lines,
    "hooks": hook_lines,
    "json_keys": json_lines,
}


def derive(name: str) -> list[str]:
    """One of the lists, from the code as it is now."""
    _evaluator.cache_clear()  # one list does not depend on those before it
    collecting = gc.isenabled()
    gc.disable()  # syntax trees are many small objects that all stay
    try:
        return sorted(LISTS[name]())
    finally:
        if collecting:
            gc.enable()


def recorded(name: str) -> list[str]:
    path = FOLDER / f"{name}.txt"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def changes(name: str, lines: list[str]) -> tuple[list[str], list[str]]:
    """What `lines` have more than the record, and what less."""
    before = recorded(name)
    return sorted({*lines} - {*before}), sorted({*before} - {*lines})


def record(name: str, lines: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
