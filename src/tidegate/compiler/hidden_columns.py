"""Columns whose values are redacted: masked ones, those tagged `pii`, and columns derived from those.

What the code of a Python model does with a column is not known: where it reads one that is tagged `pii`, each of its
own may hold it, unless it is tagged `public`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidegate.compiler.compiled import Compiled, CompiledModel, EdgeKind
from tidegate.compiler.table_columns import RECORD_TEXT, visible_columns
from tidegate.names import TableName
from tidegate.project.column_masks import PII, PUBLIC, has_tag

__all__ = ["has_errors_upstream", "hidden_columns", "hidden_in_query", "hidden_in_table", "touches_hidden_columns"]

_Node = tuple[str, str]


def hidden_columns(compiled: Compiled, table: TableName, columns: Collection[str] = ()) -> frozenset[str]:
    """In lower case. A masked column is unreadable in its table, so columns that are derived from it are not hidden.

    `columns`: those that the table has, of which the project may not know all.
    """
    model = _model_of(compiled, table) if compiled.tagged else None
    return _Search(compiled).hidden(model, columns) if model is not None else frozenset()


def hidden_in_table(compiled: Compiled | None, table: TableName, columns: Collection[str]) -> frozenset[str]:
    """The hidden ones of a published table's columns, in lower case. All of them where its model or an upstream has
    errors, or the project cannot be compiled: then their origin is unknown."""
    if compiled is not None and table not in compiled.models and table not in compiled.broken:
        # A quarantine has the columns of its model.
        table = table.beside_quarantine or table
    if compiled is None or (compiled.tagged and has_errors_upstream(compiled, table)):
        return frozenset(name.lower() for name in columns)
    return hidden_columns(compiled, table, columns)


def touches_hidden_columns(compiled: Compiled, model: CompiledModel) -> bool:
    """Whether the model reads hidden columns, or has some in its result."""
    if not compiled.tagged:
        return False
    search = _Search(compiled)
    tables = (model.model.table, *model.depends_on, *model.inlined)
    models = [other for table in tables if (other := _model_of(compiled, table)) is not None]
    return any(search.hidden(other) or search.passes_on(other) for other in models)


def has_errors_upstream(compiled: Compiled, table: TableName) -> bool:
    """Whether the model, an upstream, or something that all models share has an error: then the origin and the tags of
    its columns are unknown."""
    wrong = {error.model for error in compiled.errors}
    if None in wrong:
        return True
    waiting, visited = [table], {table}
    while waiting and (wrong or compiled.broken):
        at = waiting.pop()
        if at in compiled.broken or at.short(compiled.namespace) in wrong:
            return True
        model = compiled.models.get(at)
        fresh = {*model.depends_on, *model.inlined} - visited if model is not None else set()
        visited |= fresh
        waiting += fresh
    return False


def hidden_in_query(compiled: Compiled, sql: str) -> frozenset[str]:
    """Columns of a query's result, in lower case, that are derived from a hidden one of a table named in full."""
    if not compiled.tagged:
        return frozenset()
    # Imported here: most callers need no parser.
    from tidegate.compiler.analysis.analyze import analyze
    from tidegate.compiler.analysis.scoping import QuerySource
    from tidegate.compiler.sql.queries import SqlFault, parse_query

    query = parse_query(sql)
    if isinstance(query, SqlFault):
        return frozenset()
    sources: dict[int, QuerySource] = {}
    models: dict[str, CompiledModel] = {}
    for reference in query.references:
        model = _model_of(compiled, TableName(*reference.parts)) if len(reference.parts) == 3 else None
        if model is not None:
            key = str(model.model.table)
            models[key] = model
            sources[id(reference.node)] = QuerySource(key, visible_columns(model.model, model.relation), open=True)
    search = _Search(compiled)
    if not any(search.hidden(model) or search.passes_on(model) for model in models.values()):
        return frozenset()
    edges = analyze(query.tree, sources).edges
    read = {key: {edge.origin.column for edge in edges if edge.origin.table == key} for key in models}
    hidden = {key: search.hidden(model, read[key]) for key, model in models.items()}
    names = frozenset[str]().union(*hidden.values())
    return names | {e.column.lower() for e in edges if e.origin.column.lower() in hidden.get(e.origin.table, ())}


class _Search:
    """Searches the upstreams of a column for personal data."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._tables: dict[str, CompiledModel | None] = {}
        self._origins: dict[str, dict[str, list[_Node]]] = {}
        self._clean: set[_Node] = set()
        self._passing: dict[TableName, bool] = {}

    def hidden(self, model: CompiledModel, columns: Collection[str] = ()) -> frozenset[str]:
        masked = _masked(model)
        known = self._names(model) | {column.lower() for column in columns}
        names = masked | {name for name in known if name not in masked and self._is_pii(model, name)}
        # A record that could not be parsed has its values in its text.
        return frozenset(names | {RECORD_TEXT} if names and model.bad_records else names)

    def passes_on(self, model: CompiledModel) -> bool:
        """Whether a column of it that the project does not know may be personal: Python code gave it."""
        table = model.model.table
        if table not in self._passing:
            self._passing[table] = False  # in a circle
            if model.code is not None:
                self._passing[table] = self._reads_pii(model)
            elif not model.relation.complete:
                self._passing[table] = any(map(self.passes_on, self._read_by(model)))
        return self._passing[table]

    def _reads_pii(self, model: CompiledModel) -> bool:
        """Its code is given readable personal values."""
        return any(self.hidden(other) - _masked(other) or self.passes_on(other) for other in self._read_by(model))

    def _read_by(self, model: CompiledModel) -> list[CompiledModel]:
        tables = (*model.depends_on, *model.inlined)
        return [other for table in tables if (other := self._model(str(table))) is not None]

    def _is_pii(self, model: CompiledModel, column: str) -> bool:
        start = (str(model.model.table), column)
        self._tables[start[0]] = model
        waiting, visited = [start], {start}
        while waiting:
            node = waiting.pop()
            owner = self._model(node[0])
            if owner is None or (node != start and node[1] in _masked(owner)):
                continue
            tags = owner.model.settings.column_tags
            if has_tag(tags, node[1], PUBLIC):
                continue
            if has_tag(tags, node[1], PII) or (owner.code is not None and self.passes_on(owner)):
                return True
            fresh = [o for o in self._origins_of(owner, node[1]) if o not in visited and o not in self._clean]
            visited.update(fresh)
            waiting += fresh
        # None of these leads to a personal column.
        self._clean |= visited
        return False

    def _origins_of(self, model: CompiledModel, column: str) -> list[_Node]:
        table = str(model.model.table)
        index = self._origins.get(table)
        if index is None:
            index = self._origins[table] = {}
            for edge in model.edges:
                if edge.kind is not EdgeKind.CONDITION:
                    index.setdefault(edge.column.lower(), []).append((edge.origin.table, edge.origin.column.lower()))
        if column not in index and not model.relation.complete and model.code is None:
            # A column that comes through `*` keeps its name.
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
        waiting, visited = [model], {model.model.table}
        while waiting:
            at = waiting.pop()
            for table in (*at.depends_on, *at.inlined):
                other = self._model(str(table))
                if other is not None and table not in visited:
                    visited.add(table)
                    waiting.append(other)
                    yield other

    def _model(self, name: str) -> CompiledModel | None:
        if name not in self._tables:
            parts = name.split(".")
            table = TableName(*parts) if len(parts) == 3 else None
            self._tables[name] = _model_of(self._compiled, table) if table else None
        return self._tables[name]


def _model_of(compiled: Compiled, table: TableName) -> CompiledModel | None:
    """The model whose columns the table has; a quarantine has those of its model."""
    beside = table.beside_quarantine
    return compiled.models.get(table) or (compiled.models.get(beside) if beside is not None else None)


def _masked(model: CompiledModel) -> set[str]:
    return {mask.column.lower() for mask in model.model.masks}
