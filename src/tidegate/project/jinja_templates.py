"""Jinja: templates rendered in its sandbox, with every macro of the project at hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, nodes
from jinja2.sandbox import SandboxedEnvironment

from tidegate.names import nearest
from tidegate.problems import Place, Problem, did_you_mean
from tidegate.project.template_names import MacroFile, Rendered, TemplateNames, TemplateProblem

__all__ = ["JinjaTemplates", "hint_for_name", "hint_for_tag"]


class JinjaTemplates:
    """The templates of one project. `problems` are those of the macro files."""

    def __init__(self, macros: Sequence[MacroFile] = ()) -> None:
        self._environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
        self._compiled: dict[tuple[str, str], Template] = {}
        self._names_used: dict[str, frozenset[str]] = {}
        self._macro_templates: list[tuple[Template, frozenset[str]]] = []
        self._names_in_macros: dict[str, frozenset[str]] = {}
        self.problems: tuple[Problem, ...] = tuple(self._read_macros(macros))

    def render(self, source: str, file: str, names: TemplateNames) -> Rendered | TemplateProblem:
        variables = names.as_dict()
        try:
            template = self._compile(source, file)
            text = template.render(variables | self._bind_macros(variables, self.names_used(source)))
        except TemplateSyntaxError as error:
            message = error.message or str(error)
            return TemplateProblem(message, Place(error.filename or file, error.lineno), hint_for_tag(message))
        except Exception as error:
            return self._explain(error, file, variables)
        return Rendered(text, tuple(names.landings), tuple(sorted(names.environment.items())))

    def names_used(self, source: str) -> frozenset[str]:
        """Every name that the template, or a macro it calls, may look up."""
        if source not in self._names_used:
            self._names_used[source] = self._find_names(source)
        return self._names_used[source]

    def _find_names(self, source: str) -> frozenset[str]:
        try:
            tree = self._environment.parse(source)
        except TemplateSyntaxError:
            return frozenset()
        used = {name.name for name in tree.find_all(nodes.Name)}
        waiting = list(used)
        while waiting:
            new = self._names_in_macros.get(waiting.pop(), frozenset()) - used
            used |= new
            waiting += new
        return frozenset(used)

    def variables(self, source: str) -> frozenset[str] | None:
        """The names that the text itself gives to var(); None where it computes one, or is no template."""
        try:
            tree = self._environment.parse(source)
        except TemplateSyntaxError:
            return None
        calls = [call for call in tree.find_all(nodes.Call) if _is_var(call.node)]
        names = [_first_text(call) for call in calls]
        # A mention that is no call may be one elsewhere, under another name.
        mentions = sum(_is_var(name) for name in tree.find_all(nodes.Name))
        literal = frozenset(name for name in names if name is not None)
        return literal if mentions == len(calls) and None not in names else None

    def segments(self, source: str) -> Iterator[tuple[int, str]]:
        """The plain text between Jinja's signs, each piece with its offset in `source` (whose line ends are \\n)."""
        offset = 0
        for _, kind, value in self._environment.lex(source):
            if not source.startswith(value, offset):
                # Whitespace that `-%}` or `{%-` takes away is in no token.
                while offset < len(source) and source[offset].isspace() and not source.startswith(value, offset):
                    offset += 1
            if kind == "data":
                yield offset, value
            offset += len(value)

    def _compile(self, source: str, file: str) -> Template:
        key = (file, source)
        if key not in self._compiled:
            code = self._environment.compile(source, name=file, filename=file)
            self._compiled[key] = Template.from_code(self._environment, code, self._environment.make_globals(None))
        return self._compiled[key]

    def _bind_macros(self, variables: Mapping[str, Any], used: Collection[str]) -> dict[str, Any]:
        """Macros see the model's names, and each other whatever file they are in; only files in use are run."""
        bound: dict[str, Any] = {}

        def call(name: str) -> Callable[..., Any]:
            return lambda *args, **kwargs: bound[name](*args, **kwargs)

        callable_by_name = {name: call(name) for name in self._names_in_macros}
        for template, macros in self._macro_templates:
            if macros.isdisjoint(used):
                continue
            module = template.make_module(dict(variables) | callable_by_name)
            for name in self._names_in_macros:
                if hasattr(module, name):
                    bound.setdefault(name, getattr(module, name))
        return bound

    def _read_macros(self, macros: Sequence[MacroFile]) -> Iterator[Problem]:
        defined: dict[str, str] = {}
        for macro_file in macros:
            try:
                tree = self._environment.parse(macro_file.source)
                template = self._compile(macro_file.source, macro_file.path)
            except TemplateSyntaxError as error:
                message, place = error.message or str(error), Place(macro_file.path, error.lineno)
                yield Problem("TemplateError", message, place, suggestion=hint_for_tag(message))
                continue
            at_top = {name.name for node in tree.body if not isinstance(node, nodes.Macro) for name in _names(node)}
            own = frozenset(node.name for node in tree.body if isinstance(node, nodes.Macro))
            self._macro_templates.append((template, own))
            for macro in (node for node in tree.body if isinstance(node, nodes.Macro)):
                place = Place(macro_file.path, macro.lineno)
                if macro.name in _RESERVED:
                    yield Problem(
                        "ReservedMacro", f"'{macro.name}' is Tidegate's own; a macro cannot have that name", place
                    )
                elif macro.name in defined:
                    message = f"macro '{macro.name}' is defined twice; the other is in {defined[macro.name]}"
                    yield Problem("DuplicateMacro", message, place)
                else:
                    defined[macro.name] = f"{macro_file.path}:{macro.lineno}"
                    self._names_in_macros[macro.name] = frozenset(n.name for n in _names(macro)) | at_top

    def _explain(self, error: Exception, file: str, variables: Mapping[str, Any]) -> TemplateProblem:
        place = _deepest_place(error.__traceback__, self._files()) or Place(file)
        message = str(error).replace("TemplateNames.", "")
        if isinstance(error, RecursionError):
            message = "the template calls itself without end"
        elif "no loader" in message:
            message = "templates cannot import or include files; every macro of macros/ is known by its name"
        suggestion = None
        if undefined := re.match(r"'(\w+)' is undefined", message):
            name = undefined[1]
            suggestion = hint_for_name(name) or did_you_mean(nearest(name, [*variables, *self._names_in_macros]))
        return TemplateProblem(message or type(error).__name__, place, suggestion)

    def _files(self) -> frozenset[str]:
        return frozenset(file for file, _ in self._compiled)


_RESERVED = frozenset(
    {"ref", "landing_zone", "this", "run_started_at", "watermark_value", "is_incremental", "is_scd2", "is_snapshot"}
    | {"is_append_only", "is_delete_insert", "var", "env_var"}
)


def _is_var(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "var"


def _first_text(call: nodes.Call) -> str | None:
    values = (keyword.value for keyword in call.kwargs if keyword.key == "name")
    first = call.args[0] if call.args else next(values, None)
    return first.value if isinstance(first, nodes.Const) and isinstance(first.value, str) else None


def _names(node: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node
    yield from node.find_all(nodes.Name)


def _deepest_place(traceback: TracebackType | None, files: frozenset[str]) -> Place | None:
    place = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename in files:
            place = Place(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


_NAME_HINTS = {
    "config": "settings are comments above the query: write `-- @materialized: view`, `-- @unique_key: id` and so on",
    "source": "name the table itself: FROM NAME.schema.table for a table of [sources.NAME] in tidegate.toml, "
    "FROM {{ landing_zone('NAME') }} for files",
    "target": "name what differs between environments in [vars] and read it with var(), or give another file with -c",
    "adapter": "templates cannot ask the lake; write the SQL of Spark",
    "run_query": "templates cannot ask the lake; read the table in the query itself",
    "statement": "templates cannot ask the lake; read the table in the query itself",
    "execute": "templates only write text here: leave the condition out",
    "log": "templates cannot print; `tidegate plan --explain` and `tidegate compile` show what comes of them",
    "exceptions": "templates cannot raise errors; write a check or a quality test instead",
    "doc": "write the text itself: `-- @description: …`",
    "dbt_utils": "packages of dbt are not read; put the macro into macros/",
    "dbt": "packages of dbt are not read; put the macro into macros/, or write the function of Spark",
    "invocation_id": "the run's time is run_started_at; a run's id is in the history and the metadata of its tables",
    "model": "the model's own table is {{ this }}",
    "schema": "the model's own table is {{ this }}",
}
_TAG_HINTS = {
    "snapshot": "a snapshot is a model with `-- @merge_strategy: scd2` and `-- @unique_key: …`",
    "test": "a quality test is a query in tests/quality/ of its model, a rule of your own a file in checks/",
    "materialization": "choose one of the strategies with `-- @merge_strategy: …`",
    "docs": "write the text as `-- @description: …`",
}
_UNKNOWN_TAG = re.compile(r"unknown tag '(\w+)'")


def hint_for_name(name: str) -> str | None:
    return _NAME_HINTS.get(name)


def hint_for_tag(message: str) -> str | None:
    """From the message in which Jinja reports a tag that it does not know."""
    match = _UNKNOWN_TAG.search(message)
    return _TAG_HINTS.get(match[1]) if match else None
