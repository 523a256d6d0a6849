"""The documents of `--json`, of `--format openlineage`, of hooks and of the callback, as paths of keys."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import click

from tests.surface.evaluate import Evaluator, Scope
from tests.surface.shape import UNKNOWN, Shape, paths
from tests.surface.source import Function, Module, Source, class_around, function_around

FAILURE = "(any command that fails)"
WRITER = "JsonOutput"
_SHOW, _PRINT = ".show(", "print(json_text("


def commands(group: click.Group, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command by the words that call it; the program itself is `tidegate`."""
    yield name or "tidegate", group
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {word}".strip())
        else:
            yield f"{name} {word}".strip(), command


def callback_of(source: Source, command: click.Command) -> tuple[Module, Function]:
    function = inspect.unwrap(command.callback) if command.callback else None
    assert function is not None
    module = source.modules[function.__module__]
    definition = next(n for n in module.nodes if isinstance(n, Function) and n.name == function.__name__)
    return module, definition


class Calls:
    """Which functions call which, by name, in the modules that lead to a document."""

    def __init__(self, source: Source, modules: set[Module]) -> None:
        self._source = source
        self._modules = modules
        self._called: dict[Function, list[tuple[Module, Function]]] = {}

    def reachable(self, module: Module, function: Function) -> set[Function]:
        """The function and all that it calls, at any depth."""
        found: set[Function] = set()
        pending = [(module, function)]
        while pending:
            module, function = pending.pop()
            if function not in found:
                found.add(function)
                pending += self._from(module, function)
        return found

    def _from(self, module: Module, function: Function) -> list[tuple[Module, Function]]:
        if function not in self._called:
            names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            names = {name for name in names if self._leads(module, name)}
            targets = [self._source.definition(module, name) for name in sorted(names)]
            self._called[function] = [(t.module, t.node) for t in targets if t and isinstance(t.node, Function)]
        return self._called[function]

    def _leads(self, module: Module, name: str) -> bool:
        target, imported = module.imports.get(name, (module.name, name))
        return {self._source.modules.get(each) for each in (target, f"{target}.{imported}")} & self._modules != set()


def json_documents(source: Source, evaluator: Evaluator, program: click.Group) -> dict[str, Shape]:
    """What each command shows, by the command's words."""
    sites = [(module, call) for module, call in source.calls(_SHOW) if _shows(call)]
    lines = [(module, call) for module, call in source.calls(_PRINT) if _prints_json(module, call)]
    calls = Calls(source, source.leading_to(_SHOW, _PRINT))
    found: dict[str, Shape] = {}
    taken: set[ast.AST] = set()
    for name, command in commands(program):
        functions = calls.reachable(*callback_of(source, command))
        for module, call in sites:
            if function_around(module, call) in functions or _around_twice(module, call) in functions:
                taken.add(call)
                found[name] = found.get(name, UNKNOWN) | _document(evaluator, module, call)
        for module, call in lines:
            if function_around(module, call) in functions:
                shape = evaluator.shape(call.args[0], evaluator.scope_around(module, call))
                found[f"{name} (one event a line)"] = shape
    for module, call in sites:
        if call not in taken:
            found[FAILURE] = found.get(FAILURE, UNKNOWN) | _document(evaluator, module, call)
    return {name: shape for name, shape in found.items() if paths(shape)}


def _around_twice(module: Module, node: ast.AST) -> Function | None:
    inner = function_around(module, node)
    return function_around(module, inner) if inner else None


def _shows(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "show" and len(call.args) == 2


def _prints_json(module: Module, call: ast.Call) -> bool:
    parent = module.parents.get(call)
    printed = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "print"
    around = class_around(module, call)
    is_writer = around is not None and around.name == WRITER
    return printed and not is_writer and isinstance(call.func, ast.Name) and call.func.id == "json_text"


def _document(evaluator: Evaluator, module: Module, call: ast.Call) -> Shape:
    """With what the writer adds to each document."""
    own = evaluator.shape(call.args[0], evaluator.scope_around(module, call))
    writer = evaluator.source.one(WRITER)
    assert isinstance(writer.node, ast.ClassDef)
    show = next(node for node in writer.node.body if isinstance(node, Function) and node.name == "show")
    document = show.args.args[1].arg
    written = next(n for n in ast.walk(show) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "json_text")
    return evaluator.shape(written.args[0], Scope(writer.module, show, {document: own}))
