"""Columns whose values nobody is shown: masked ones, those tagged `pii`, and what comes from such a one."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidegate.compiler.compiled import Compiled, CompiledModel, EdgeKind
from tidegate.compiler.table_columns import RECORD_TEXT, visible_columns
from tidegate.names import TableName
from tidegate.project.column_masks import PII, PUBLIC, has_tag

__all__ = ["has_errors_upstream", "hidden_columns", "hidden_in_query", "hidden_in_table", "touches_hidden_columns"]

_Node = tuple[str, str]


def hidden_columns(compiled: Compiled, table: TableName) -> frozenset[str]:
    """In lower case. A masked column is made unreadable in its table, so what reads it there has nothing to hide."""
    model = _model_of(compiled, table) if compiled.tagged else None
    return _Search(compiled).hidden(model) if model is not None else frozenset()


def hidden_in_table(compiled: Compiled | None, table: TableName, columns: Collection[str]) -> frozenset[str]:
    """Of a published table's columns, in lower case. All, where its model or one above has errors, or the project
    cannot be read: then nobody knows what they hold."""
    if compiled is not None and table not in compiled.models and table not in compiled.broken:
        # Rows that a model refused have its columns.
        table = table.beside_quarantine or table
    if compiled is None or (compiled.tagged and has_errors_upstream(compiled, table)):
        return frozenset(name.lower() for name in columns)
    return hidden_columns(compiled, table)


def touches_hidden_columns(compiled: Compiled, model: CompiledModel) -> bool:
    """Whether the model gives hidden columns, or reads some."""
    tables = (model.model.table, *model.depends_on, *model.inlined)
    return any(hidden_columns(compiled, table) for table in tables)


def has_errors_upstream(compiled: Compiled, table: TableName) -> bool:
    """Whether something is wrong with the model, with one above it, or with what all share: then nobody knows where its
    columns come from, or which tags they have."""
    wrong = {error.model for error in compiled.errors}
    if None in wrong:
        return True
    waiting, seen = [table], {table}
    while waiting and (wrong or compiled.broken):
        at = waiting.pop()
        if at in compiled.broken or at.short(compiled.namespace) in wrong:
            return True
        model = compiled.models.get(at)
        fresh = {*model.depends_on, *model.inlined} - seen if model is not None else set()
        seen |= fresh
        waiting += fresh
    return False


def hidden_in_query(compiled: Compiled, sql: str) -> frozenset[str]:
    """Columns that a query gives, in lower case, which hold a hidden one of a table that it names in full."""
    if not compiled.tagged:
        return frozenset()
    # Only here: most of those who ask for a table's columns need no parser.
    from tidegate.compiler.analysis.analyze import analyze
    from tidegate.compiler.analysis.scoping import QuerySource
    from tidegate.compiler.sql.queries import SqlFault, parse_query

    query = parse_query(sql)
    if isinstance(query, SqlFault):
        return frozenset()
    sources: dict[int, QuerySource] = {}
    hidden: dict[str, frozenset[str]] = {}
    for reference in query.references:
        model = _model_of(compiled, TableName(*reference.parts)) if len(reference.parts) == 3 else None
        if model is not None:
            key = str(model.model.table)
            hidden[key] = hidden_columns(compiled, model.model.table)
            sources[id(reference.node)] = QuerySource(key, visible_columns(model.model, model.relation), open=True)
    names = frozenset[str]().union(*hidden.values())
    if not names:
        return names
    edges = analyze(query.tree, sources).edges
    return names | {e.column.lower() for e in edges if e.origin.column.lower() in hidden.get(e.origin.table, ())}


class _Search:
    """Upwards through the models; `tables`: those that were looked at, by their full names."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._tables: dict[str, CompiledModel | None] = {}
        self._origins: dict[str, dict[str, list[_Node]]] = {}
        self._clean: set[_Node] = set()

    def hidden(self, model: CompiledModel) -> frozenset[str]:
        masked = _masked(model)
        names = masked | {name for name in self._names(model) if name not in masked and self._is_pii(model, name)}
        # A record that could not be read has its values in its text.
        return frozenset(names | {RECORD_TEXT} if names and model.bad_records else names)

    def _is_pii(self, model: CompiledModel, column: str) -> bool:
        start = (str(model.model.table), column)
        self._tables[start[0]] = model
        waiting, seen = [start], {start}
        while waiting:
            node = waiting.pop()
            found = self._model(node[0])
            if found is None or (node != start and node[1] in _masked(found)):
                continue
            tags = found.model.settings.column_tags
            if has_tag(tags, node[1], PUBLIC):
                continue
            if has_tag(tags, node[1], PII):
                return True
            fresh = [o for o in self._origins_of(found, node[1]) if o not in seen and o not in self._clean]
            seen.update(fresh)
            waiting += fresh
        # None of these leads to a personal column.
        self._clean |= seen
        return False

    def _origins_of(self, model: CompiledModel, column: str) -> list[_Node]:
        table = str(model.model.table)
        index = self._origins.get(table)
        if index is None:
            index = self._origins[table] = {}
            for edge in model.edges:
                if edge.kind is not EdgeKind.CONDITION:
                    index.setdefault(edge.column.lower(), []).append((edge.origin.table, edge.origin.column.lower()))
        if column not in index and not model.relation.complete:
            # Whatever a `*` gives keeps its name.
            return [(str(other), column) for other in (*model.depends_on, *model.inlined)]
        return index.get(column, [])

    def _names(self, model: CompiledModel) -> set[str]:
        names = {edge.column.lower() for edge in model.edges} | {c.name.lower() for c in model.relation.columns}
        names |= {name.lower() for name in model.model.settings.column_tags}
        if not model.relation.complete:
            for other in self._upstream(model):
                names |= {name.lower() for name in other.model.settings.column_tags}
        return names

    def _upstream(self, model: CompiledModel) -> Iterator[CompiledModel]:
        waiting, seen = [model], {model.model.table}
        while waiting:
            at = waiting.pop()
            for table in (*at.depends_on, *at.inlined):
                other = self._model(str(table))
                if other is not None and table not in seen:
                    seen.add(table)
                    waiting.append(other)
                    yield other

    def _model(self, name: str) -> CompiledModel | None:
        if name not in self._tables:
            parts = name.split(".")
            table = TableName(*parts) if len(parts) == 3 else None
            self._tables[name] = _model_of(self._compiled, table) if table else None
        return self._tables[name]


def _model_of(compiled: Compiled, table: TableName) -> CompiledModel | None:
    """The model whose columns the table has: rows that a model refused have its columns."""
    beside = table.beside_quarantine
    return compiled.models.get(table) or (compiled.models.get(beside) if beside is not None else None)


def _masked(model: CompiledModel) -> set[str]:
    return {mask.column.lower() for mask in model.model.masks}
