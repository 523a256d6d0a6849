"""The profile of a published table: as the run that wrote it recorded it, or from one pass over its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from tidegate.compiler.hidden_columns import hidden_in_table
from tidegate.config import Settings
from tidegate.datatypes import Column, parse_type
from tidegate.errors import FailureKind, QueryError, SelectionError
from tidegate.lake import open_catalog
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.operations.workspace import Workspace
from tidegate.project.model import Materialized
from tidegate.quality.column_profiles import Profile, hide, survey
from tidegate.runs.recorder import profile_of_record
from tidegate.state import StateReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TableProfile", "profile_model", "profile_now"]


@dataclass(frozen=True, slots=True)
class TableProfile:
    model: str
    profile: Profile
    at: datetime
    run_id: str | None = None
    """None: it was computed just now."""

    changed: bool = False
    """The table has been changed since."""

    def document(self) -> dict[str, Any]:
        facts = {"model": self.model, "run_id": self.run_id, "at": self.at, "changed_since": self.changed}
        return {**facts, **asdict(self.profile)}


def profile_model(workspace: Workspace, name: str, now: bool, notify: Callable[[str], None]) -> TableProfile:
    """As its last run recorded it; where there is nothing of that kind, and with `now`, the table is read."""
    compiled = workspace.compile()
    model = workspace.find_model(compiled, name).model
    table, name = model.table, model.table.short(compiled.namespace)
    if model.settings.materialized is Materialized.EPHEMERAL:
        raise SelectionError(
            f"'{name}' is ephemeral, so it has no table",
            remedy="Its query is part of the models that read it: look at one of those.",
        )
    metadata = workspace.metadata(table)
    if metadata is None:
        raise SelectionError(f"'{name}' has not been published yet", remedy=f"`tidegate run +{name}` builds it.")
    hidden = partial(hidden_in_table, compiled, table)
    if not isinstance(metadata, TableMetadata):
        if not now:
            raise SelectionError(
                f"'{name}' is a view: no run writes its rows", remedy="`--now` reads them, with all that it reads."
            )
    elif not now:
        with workspace.state() as state:
            recorded = _recorded(state, name, metadata, hidden(metadata.column_names))
        if recorded is not None:
            return recorded
        notify(f"No run has recorded a profile of {name}: reading the table.")
    return profile_now(workspace.settings, table, hidden, datetime.now(UTC), notify=notify)


def _recorded(state: StateReader, model: str, metadata: TableMetadata, hidden: Collection[str]) -> TableProfile | None:
    """That of the last run which wrote the table. `hidden`: columns, in lower case, that are hidden now."""
    for record in state.profiles(model, 1):
        profile = profile_of_record(record)
        profile = replace(profile, columns=hide(profile.columns, hidden))
        last = metadata.last_change
        changed = profile.snapshot_id != (last.id if last else None)
        return TableProfile(model, profile, record.at, record.run_id, changed)
    return None


def profile_now(
    settings: Settings,
    table: TableName,
    hidden_among: Callable[[Collection[str]], frozenset[str]],
    at: datetime,
    root: SparkSession | None = None,
    notify: Callable[[str], None] = lambda line: None,
) -> TableProfile:
    """One pass over the rows that main has now. `hidden_among`: which of the columns are hidden."""
    # Only here: this needs pyspark, and a recorded profile does not.
    from tidegate.operations.query import NO_COUNTS_FROM_STATISTICS, pinned_heads
    from tidegate.planner.plan_size import work_on_tables
    from tidegate.runs.damage import missing_file_behind
    from tidegate.spark.session import child_session, open_spark
    from tidegate.spark.spark_errors import read_failure

    catalog = open_catalog(settings)
    session = open_spark(settings, notify, root, work_on_tables(catalog.head(), [table]))
    with pinned_heads(catalog) as branch:
        conf = {**catalog.spark_conf(branch), **dict([NO_COUNTS_FROM_STATISTICS])}
        child = child_session(session, conf, catalog.spark_catalog(branch))
        metadata = BranchView(catalog, branch).table(table)
        try:
            fields = child.table(table.quoted).schema.fields
            types = [(field.name, parse_type(field.dataType.simpleString())) for field in fields]
            columns = [Column(name, kind) if kind else Column(name) for name, kind in types]
            statistics = survey(columns, hidden_among([column.name for column in columns]))
            text = child.sql(statistics.over(table.quoted)).collect()[0]["profile"]
        except Exception as error:
            failure = read_failure(error)
            damage = None
            if failure.kind is FailureKind.NOT_FOUND:
                damage = missing_file_behind(catalog.head(branch), [table], settings.project.namespace)
            raise damage or QueryError(failure.message, remedy=failure.remedy) from error
    counted = statistics.read(text)
    last = metadata.last_change if metadata else None
    name = table.short(settings.project.namespace)
    return TableProfile(name, counted.profile(counted.rows, last.id if last else None), at)
