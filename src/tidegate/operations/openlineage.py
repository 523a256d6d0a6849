"""A run as OpenLineage events: what each model read and wrote, with its columns and where they come from.

Written to the specification's version 2-0-2 and the facets' versions named below (openlineage.io/docs/spec).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tidegate import __version__
from tidegate.compiler.compiled import Compiled, CompiledModel, EdgeKind, Origin
from tidegate.compiler.lineage_graph import least_direct
from tidegate.compiler.table_columns import table_columns
from tidegate.config import CatalogSource, DatabaseSource, Settings, SourceSettings
from tidegate.datatypes import NOTHING_KNOWN, Relation
from tidegate.names import TableName
from tidegate.operations.workspace import Workspace
from tidegate.project.model import Materialized
from tidegate.sources import Discovery, known_tables
from tidegate.state import ModelRunRecord, RunRecord
from tidegate.state.reader import find_run

__all__ = ["past_run_events", "run_events"]

PRODUCER = f"urn:tidegate:{__version__}"
_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = "https://openlineage.io/spec/facets"
_SCHEMAS = {
    "columnLineage": f"{_FACETS}/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet",
    "documentation": f"{_FACETS}/1-0-1/DocumentationJobFacet.json#/$defs/DocumentationJobFacet",
    "errorMessage": f"{_FACETS}/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
    "jobType": f"{_FACETS}/2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
    "outputStatistics": (
        f"{_FACETS}/1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet"
    ),
    "parent": f"{_FACETS}/1-0-1/ParentRunFacet.json#/$defs/ParentRunFacet",
    "schema": f"{_FACETS}/1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
}
# A column may be a window's argument or its partition or order. The edge does not say which, so both are given: a
# reader that follows values must not miss one.
_TRANSFORMATIONS = {
    EdgeKind.IDENTITY: {("DIRECT", "IDENTITY")},
    EdgeKind.CAST: {("DIRECT", "TRANSFORMATION")},
    EdgeKind.EXPRESSION: {("DIRECT", "TRANSFORMATION")},
    EdgeKind.AGGREGATION: {("DIRECT", "AGGREGATION")},
    EdgeKind.WINDOW: {("DIRECT", "TRANSFORMATION"), ("INDIRECT", "WINDOW")},
    EdgeKind.CONDITION: {("INDIRECT", "CONDITIONAL")},
}
_ENDS = {"completed": "COMPLETE", "failed": "FAIL", "cancelled": "ABORT"}
_RUN_ENDS = {"success": "COMPLETE", "skipped": "COMPLETE", "partial": "FAIL", "failed": "FAIL", "cancelled": "ABORT"}

Document = dict[str, Any]


def past_run_events(workspace: Workspace, compiled: Compiled, run_id: str, model: str | None) -> Iterator[Document]:
    """Of a run (or `latest`); `model`: only of this one."""
    with workspace.state() as state:
        run = find_run(state, run_id)
        models = state.model_runs(run.run_id)
    if model is not None:
        name = workspace.find_model(compiled, model).model.table.short(compiled.namespace)
        models = tuple(record for record in models if record.model == name)
    return run_events(compiled, workspace.settings, run, models)


def run_events(
    compiled: Compiled,
    settings: Settings,
    run: RunRecord,
    models: Sequence[ModelRunRecord],
    discovery: Discovery | None = None,
) -> Iterator[Document]:
    """In order of time: the run itself is the parent job, each model that was built one below it.

    Skipped and blocked models did nothing and have no events. The columns are those of `compiled`; a model that is
    not in it any more has its job and its table only. `discovery`: the tables of the sources; None: as last answered.
    """
    tables = {TableName.parse(model.model, settings.project.namespace) for model in models}
    read = {source for table in tables & compiled.models.keys() for source in compiled.models[table].sources}
    if discovery is None:
        discovery = known_tables(settings, names=settings.sources.keys() & {source.namespace for source in read})
    writer = _EventWriter(compiled, settings, run, read, discovery)
    first, *last = writer.run_events()
    # Sorting keeps the order of what has the same time: a run starts before its models and ends after them.
    events = [first, *(event for model in models for event in writer.model_events(model)), *last]
    return iter(sorted(events, key=lambda event: datetime.fromisoformat(event["eventTime"])))


class _EventWriter:
    def __init__(
        self, compiled: Compiled, settings: Settings, run: RunRecord, read: Set[TableName], discovery: Discovery
    ) -> None:
        self.compiled = compiled
        self.settings = settings
        self.run = run
        self.outside = {table.table: table.relation for table in discovery.tables}
        self.outside |= {name: table.relation for name, table in compiled.chunk_tables.items() if name in read}
        self.sources = {str(source): source for source in read}
        self.job = {"namespace": settings.project.namespace, "name": settings.project.name}
        self.run_id = self._id()

    def run_events(self) -> Iterator[Document]:
        facets = {"jobType": _facet("jobType", processingType="BATCH", integration="TIDEGATE", jobType="RUN")}
        job = {**self.job, "facets": facets}
        yield _event("START", self.run.started_at, {"runId": self.run_id}, job)
        end = _RUN_ENDS.get(self.run.status)
        if end and self.run.finished_at:
            error = _error(self.run.error) if end == "FAIL" else {}
            yield _event(end, self.run.finished_at, {"runId": self.run_id, "facets": error}, job)

    def model_events(self, record: ModelRunRecord) -> Iterator[Document]:
        end = _ENDS.get(record.status)
        if end is None:
            return
        table = TableName.parse(record.model, self.settings.project.namespace)
        model = self.compiled.models.get(table)
        started = record.finished_at - timedelta(milliseconds=record.duration_ms)
        parent = _facet("parent", run={"runId": self.run_id}, job=self.job)
        run_id, facets = self._id(record.model), {"parent": parent}
        job = {"namespace": self.settings.project.namespace, "name": str(table), "facets": _job_facets(model)}
        inputs = list(self._inputs(model)) if model else []
        output = self._output(table, model)
        run = {"runId": run_id, "facets": facets}
        yield _event("START", max(started, self.run.started_at), run, job, inputs, [output])
        if end == "FAIL":
            run = {"runId": run_id, "facets": {**facets, **_error(record.error)}}
        if end == "COMPLETE" and record.strategy != "view":
            statistics = _facet("outputStatistics", rowCount=record.rows_written)
            output = {**output, "outputFacets": {"outputStatistics": statistics}}
        yield _event(end, record.finished_at, run, job, inputs, [output])

    def _id(self, model: str = "") -> str:
        """The same for the same run, however often its events are written."""
        return str(uuid5(NAMESPACE_URL, f"tidegate:{self.settings.project.namespace}/{self.run.run_id}/{model}"))

    def _inputs(self, model: CompiledModel) -> Iterator[Document]:
        for table in sorted({*model.depends_on, *model.sources}):
            yield {**self._dataset(str(table)), "facets": self._columns_of(table)}
        for zone in model.zones:
            yield {**self._dataset(f"landing:{zone}"), "facets": {}}

    def _columns_of(self, table: TableName) -> Document:
        upstream = self.compiled.models.get(table)
        return _schema(upstream) if upstream else _columns(self.outside.get(table, NOTHING_KNOWN))

    def _output(self, table: TableName, model: CompiledModel | None) -> Document:
        facets = {**_schema(model), **self._column_lineage(model)} if model else {}
        return {**self._dataset(str(table)), "facets": facets}

    def _dataset(self, key: str) -> Document:
        """`key`: as origins have it. A zone is a folder; a table is known by its name in its lake or source."""
        if key.startswith("landing:"):
            return {"namespace": "file", "name": str(self.settings.landing.root / key.removeprefix("landing:"))}
        table = self.sources.get(key)
        source = self.settings.sources.get(table.namespace) if table else None
        if table and source:
            return _dataset_of_source(table, source)
        if table and (chunk_table := self.compiled.chunk_tables.get(table)):
            return _dataset_of_files(chunk_table.where)
        return {"namespace": self.settings.lake.warehouse.absolute().as_uri(), "name": key}

    def _column_lineage(self, model: CompiledModel) -> Document:
        columns: dict[str, dict[Origin, set[tuple[str, str]]]] = {}
        for edge in model.edges:
            for origin, kind in self._tables_behind(edge.origin, edge.kind):
                columns.setdefault(edge.column, {}).setdefault(origin, set()).update(_TRANSFORMATIONS[kind])
        conditions = {
            origin
            for condition in self._all_conditions(model)
            for origin, _kind in self._tables_behind(condition, EdgeKind.CONDITION)
        }
        if not columns and not conditions:
            return {}
        fields = {
            column: {"inputFields": [self._input_field(origin, sorted(how)) for origin, how in sorted(origins.items())]}
            for column, origins in columns.items()
        }
        rows = [self._input_field(origin, [("INDIRECT", "FILTER")], _DECIDES_ROWS) for origin in sorted(conditions)]
        return {"columnLineage": _facet("columnLineage", fields=fields, dataset=rows)}

    def _all_conditions(self, model: CompiledModel) -> Iterator[Origin]:
        """Those of the ephemeral models that are part of its query, too."""
        yield from model.conditions
        for table in model.inlined:
            if (inlined := self.compiled.models.get(table)) is not None:
                yield from inlined.conditions

    def _tables_behind(self, origin: Origin, kind: EdgeKind) -> Iterator[tuple[Origin, EdgeKind]]:
        """The column itself, or, of an ephemeral model, the columns of tables that it is made of."""
        model = self._ephemeral(origin.table)
        if model is None:
            yield origin, kind
            return
        for edge in model.edges:
            if edge.column.lower() == origin.column.lower():
                yield from self._tables_behind(edge.origin, least_direct(kind, edge.kind))

    def _ephemeral(self, key: str) -> CompiledModel | None:
        model = self.compiled.model_of(key)
        return model if model and model.model.settings.materialized is Materialized.EPHEMERAL else None

    def _input_field(self, origin: Origin, how: Sequence[tuple[str, str]], description: str = "") -> Document:
        transformations = [
            {"type": kind, "subtype": subtype, "description": description, "masking": False} for kind, subtype in how
        ]
        return {**self._dataset(origin.table), "field": origin.column, "transformations": transformations}


_DECIDES_ROWS = "decides which rows there are: a filter, a join condition or a grouping"


def _event(
    kind: str,
    at: datetime,
    run: Document,
    job: Document,
    inputs: Sequence[Document] = (),
    outputs: Sequence[Document] = (),
) -> Document:
    return {
        "eventType": kind,
        "eventTime": at.astimezone(UTC).isoformat(),
        "run": run,
        "job": job,
        "inputs": list(inputs),
        "outputs": list(outputs),
        "producer": PRODUCER,
        "schemaURL": _EVENT,
    }


def _job_facets(model: CompiledModel | None) -> Document:
    facets = {"jobType": _facet("jobType", processingType="BATCH", integration="TIDEGATE", jobType="MODEL")}
    if model and model.model.settings.description:
        facets["documentation"] = _facet("documentation", description=model.model.settings.description)
    return facets


def _dataset_of_files(where: str) -> Document:
    """A folder, or `s3://bucket/…`."""
    if "://" not in where:
        return {"namespace": "file", "name": where}
    scheme, _, rest = where.partition("://")
    bucket, _, name = rest.partition("/")
    return {"namespace": f"{scheme}://{bucket}", "name": name}


def _dataset_of_source(table: TableName, source: SourceSettings) -> Document:
    """As the system that writes the table names it, so that its lineage and ours connect."""
    match source:
        case DatabaseSource():
            host = f"[{source.host}]" if ":" in source.host else source.host
            name = f"{source.database}.{table.layer}.{table.name}"
            return {"namespace": f"postgres://{host}:{source.port}", "name": name}
        case CatalogSource():
            parts = (source.namespace, table.layer, table.name) if source.namespace else (table.layer, table.name)
            return {"namespace": source.warehouse.absolute().as_uri(), "name": ".".join(parts)}
        case _:
            return {"namespace": source.name, "name": f"{table.layer}.{table.name}"}


def _schema(model: CompiledModel) -> Document:
    return _columns(table_columns(model.model.settings, model.relation))


def _columns(relation: Relation) -> Document:
    """Nothing where the columns are not all known: half a schema would look like a whole one."""
    if not relation.complete:
        return {}
    fields = [{"name": c.name, **({"type": c.type.text} if c.type.known else {})} for c in relation.columns]
    return {"schema": _facet("schema", fields=fields)}


def _error(message: str | None) -> Document:
    if not message:
        return {}
    return {"errorMessage": _facet("errorMessage", message=message, programmingLanguage="SQL")}


def _facet(name: str, **values: Any) -> Mapping[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": _SCHEMAS[name], **values}
