"""A compiled model and one run's values → the SQL that Spark gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from tidegate.checks.check_values import Check
from tidegate.compiler.compiled import BoundQuery, Compiled, FunctionRead, RunValues, TableRead
from tidegate.compiler.drafts import templates_of
from tidegate.compiler.external_tables import landing_read
from tidegate.compiler.sql.permitted import Permissions
from tidegate.compiler.sql.qualifiers import shorten_columns
from tidegate.compiler.sql.queries import ParsedQuery, SqlFault, TableReference, parse_permitted
from tidegate.compiler.sql.sql_text import Edit, apply_edits
from tidegate.compiler.table_index import TableIndex
from tidegate.errors import QueryError
from tidegate.names import TableName, quote
from tidegate.project import Materialized, Model
from tidegate.project.lib_functions import arguments_of
from tidegate.project.template_names import Rendered, TemplateContext, TemplateProblem

__all__ = ["bind", "bind_reference", "bind_test"]

_STRINGS = {TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING}
_DATE_WORD = re.compile(r"@(start_date|end_date)\b", re.IGNORECASE)


def bind(compiled: Compiled, table: TableName, values: RunValues) -> BoundQuery:
    compiled_model = compiled.models[table]
    if compiled_model.code is not None:
        name, file = table.short(compiled.namespace), compiled_model.model.file
        raise QueryError(f"{name} is a Python model and has no query", where=file, remedy="use bind_python")
    model, readable = compiled_model.model, frozenset({table, *compiled_model.depends_on, *compiled_model.sources})
    return _Binder(compiled, values, readable).bind(model, model.source, model.file)


def bind_test(compiled: Compiled, test: Check, table: TableName, values: RunValues) -> BoundQuery:
    model = compiled.models[table].model
    return _Binder(compiled, values).bind(model, test.source, test.place.file, is_test=True)


def bind_reference(compiled: Compiled, table: TableName, other: TableName, values: RunValues) -> BoundQuery:
    """All rows of `other`, which the model of `table` reads."""
    reader = compiled.models[table]
    model, readable = reader.model, frozenset({table, other, *reader.depends_on, *reader.sources})
    return _Binder(compiled, values, readable).bind(model, f"SELECT * FROM {other.quoted}", model.file)


@dataclass(frozen=True, slots=True)
class _Binder:
    """`readable`: the tables that the model was compiled to read, so built before it; None for tests, run later."""

    compiled: Compiled
    values: RunValues
    readable: frozenset[TableName] | None = None

    def bind(self, model: Model, source: str, file: str, *, inline: bool = False, is_test: bool = False) -> BoundQuery:
        rendered = self._render(model, source, file)
        spark = self.compiled.settings.spark
        functions = spark.function_names
        own = frozenset[str]() if is_test else frozenset(self.compiled.project.functions)
        query = parse_permitted(rendered.text, Permissions(functions, spark.allow_code and not is_test, own))
        if isinstance(query, SqlFault):
            remedy = query.suggestion or "look at the template: with this run's values it gives other SQL"
            raise QueryError(query.message, where=file, remedy=remedy)
        tables = self._tables(query, file, {call.placeholder for call in rendered.landings})
        shortening = shorten_columns(query, tables)
        edits = [*shortening.edits, *self._dates(query, file)]
        for reference, edit in self._relations(query, rendered, tables):
            name = None if reference.alias else shortening.aliases.get(reference.start) or _needed_name(reference, edit)
            edits.append(_with_alias(edit, name))
            if name:
                at = _end_of_sample(query, reference)
                edits.append(Edit(at, at, f" AS {quote(name)}"))
        edits += self._calls(query, file)
        sql, reads = apply_edits(query.text, edits, query.start if inline else 0, query.end)
        return BoundQuery(sql, reads, _columns(query.tree))

    def _render(self, model: Model, source: str, file: str) -> Rendered:
        values, namespace = self.values, self.compiled.settings.project.namespace
        context = TemplateContext(
            table=model.table,
            namespace=namespace,
            strategy=model.settings.strategy,
            run_started_at=values.run_started_at,
            incremental=values.incremental,
            watermark_value=values.watermark_value,
            vars={**self.compiled.settings.vars, **values.vars},
        )
        result = templates_of(self.compiled.project.macros).render(source, file, context)
        if isinstance(result, TemplateProblem):
            where = f"{result.place.file}:{result.place.line}"
            raise QueryError(
                f"the template cannot be rendered: {result.message}", where=where, remedy=result.suggestion
            )
        return result

    def _tables(self, query: ParsedQuery, file: str, placeholders: set[str]) -> dict[int, TableName]:
        """The table of each reference, by its start; landing zones are left out."""
        models, namespace = self.compiled.models, self.compiled.settings.project.namespace
        sources = {source for compiled in models.values() for source in compiled.sources}
        index = TableIndex(models, sources, namespace)
        tables = {}
        for reference in query.references:
            if len(reference.parts) == 1 and reference.parts[0] in placeholders:
                continue
            table = index.find(reference.parts)
            if table is None and self.readable is None and len(reference.parts) > 1:
                table = TableName.parse(".".join(reference.parts), namespace)
            if table is None or not self._may_read(table):
                name = ".".join(reference.parts)
                message = f"with this run's values the query reads '{name}', which it does not read otherwise"
                raise QueryError(message, where=file, remedy="name the table whatever the values are, or in depends_on")
            tables[reference.start] = table
        return tables

    def _may_read(self, table: TableName) -> bool:
        return self.readable is None or table in self.readable or self._is_ephemeral(table)

    def _relations(
        self, query: ParsedQuery, rendered: Rendered, tables: dict[int, TableName]
    ) -> Iterator[tuple[TableReference, Edit]]:
        calls = {call.placeholder: call for call in rendered.landings}
        for reference in query.references:
            if reference.start not in tables:
                call = calls[reference.parts[0]]
                text = f"`landing`.{quote(call.zone)}"
                read = TableRead(
                    0, len(text), reference.alias, reference.driving, landing=landing_read(call, self.compiled.settings)
                )
                yield reference, Edit(reference.start, reference.end, text, (read,))
                continue
            table = tables[reference.start]
            if self._is_ephemeral(table):
                yield reference, self._inlined(reference, table)
            else:
                read = TableRead(0, len(table.quoted), reference.alias, reference.driving, table=table)
                yield reference, Edit(reference.start, reference.end, table.quoted, (read,))

    def _calls(self, query: ParsedQuery, file: str) -> Iterator[Edit]:
        for call in query.calls:
            function = self.compiled.project.functions[call.name.lower()]
            try:
                arguments = arguments_of(function, call.arguments or ())
            except ValueError as error:
                raise QueryError(f"with this run's values: {error}", where=file) from None
            text = f"`lib`.{quote(function.name)}"
            read = TableRead(0, len(text), call.alias, call.driving, function=FunctionRead(function.name, arguments))
            yield Edit(call.start, call.end, text, (read,))

    def _inlined(self, reference: TableReference, table: TableName) -> Edit:
        model = self.compiled.models[table].model
        inner = self.bind(model, model.source, model.file, inline=True)
        reads = tuple(
            replace(read, start=read.start + 1, end=read.end + 1, driving=read.driving and reference.driving)
            for read in inner.reads
        )
        return Edit(reference.start, reference.end, f"({inner.sql})", reads)

    def _is_ephemeral(self, table: TableName) -> bool:
        model = self.compiled.models.get(table)
        return model is not None and model.model.settings.materialized is Materialized.EPHEMERAL

    def _dates(self, query: ParsedQuery, file: str) -> Iterator[Edit]:
        """@start_date is a TIMESTAMP literal, and inside quotes its plain text."""
        for sign, word in pairwise(query.tokens):
            if sign.token_type is TokenType.PARAMETER and word.text.lower() in {"start_date", "end_date"}:
                value = self._date(word.text, file)
                yield Edit(sign.start, word.end + 1, f"TIMESTAMP '{value}'")
        for token in query.tokens:
            if token.token_type in _STRINGS and (self.values.start_date or self.values.end_date):
                for match in _DATE_WORD.finditer(query.text, token.start, token.end + 1):
                    yield Edit(match.start(), match.end(), self._date(match[1], file))

    def _date(self, name: str, file: str) -> str:
        value = self.values.start_date if name.lower() == "start_date" else self.values.end_date
        if value is None:
            remedy = "use it in a model of strategy time_interval"
            raise QueryError(f"@{name.lower()} has no value in this run", where=file, remedy=remedy)
        return value


def _needed_name(reference: TableReference, edit: Edit) -> str | None:
    """A subquery needs the name of its table; a sampled table needs one after the sample."""
    if edit.text.startswith("("):
        return reference.parts[-1]
    if reference.node.args.get("sample") is None:
        return None
    landing = edit.reads[0].landing
    return landing.zone if landing else reference.parts[-1]


def _with_alias(edit: Edit, alias: str | None) -> Edit:
    """The read of a plain table name takes the alias of the name."""
    if alias is None or edit.text.startswith("("):
        return edit
    return replace(edit, reads=(replace(edit.reads[0], alias=alias),))


def _end_of_sample(query: ParsedQuery, reference: TableReference) -> int:
    """The offset for an alias: after the name, or after the TABLESAMPLE clause that follows it."""
    end, depth = reference.end, 0
    following = [token for token in query.tokens if token.start >= reference.end]
    for i, token in enumerate(following):
        if depth == 0 and token.text.upper() not in {"TABLESAMPLE", "REPEATABLE", "("}:
            break
        if i == 0 and token.text.upper() != "TABLESAMPLE":
            break
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        end = token.end + 1
    return end


def _columns(tree: Any) -> tuple[str, ...]:
    """The names of the result's columns where the query lists them all."""
    while isinstance(tree, exp.Subquery | exp.SetOperation):
        tree = tree.this
    if not isinstance(tree, exp.Select):
        return ()
    names = []
    for item in tree.expressions:
        if not isinstance(item, exp.Alias | exp.Column) or item.is_star:
            return ()
        names.append(str(item.alias_or_name))
    return tuple(names)
