"""What the models of a run wrote, put down, and compared with what earlier runs wrote."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict
from datetime import datetime

from tidegate.config import AnomaliesSection
from tidegate.names import TableName
from tidegate.project.model import ModelSettings
from tidegate.quality.anomalies import MOST_RUNS, Anomaly, Seen, find_anomalies
from tidegate.quality.profile import ColumnProfile, Profile, Scope
from tidegate.runs.tally import Outcomes
from tidegate.state import ProfileRecord, StateReader, StateStore

__all__ = ["keep_profiles", "profile_of_record", "unusual"]


def keep_profiles(
    store: StateStore,
    run_id: str,
    at: datetime,
    outcomes: Outcomes,
    namespace: str,
    published: Collection[TableName],
    waiting: bool,
) -> None:
    """`waiting`: the branch is kept, so what is not published yet may be later."""
    for table, outcome in sorted(outcomes.items()):
        profile = outcome.profile
        if profile is None or not (waiting or table in published):
            continue
        store.add_profile(
            ProfileRecord(
                run_id=run_id,
                model=table.short(namespace),
                at=at,
                scope=profile.scope,
                rows=profile.rows,
                table_rows=profile.table_rows,
                snapshot_id=profile.snapshot_id,
                published=table in published,
                columns=tuple(map(asdict, profile.columns)),
            )
        )


def unusual(
    reader: StateReader, model: str, settings: ModelSettings, now: Seen, section: AnomaliesSection
) -> Iterator[Anomaly]:
    """Compared with the last runs of the model that were published."""
    thresholds = section.thresholds(settings.anomaly_threshold)
    if any(thresholds.values()):
        records = reader.profiles(model, MOST_RUNS, now.profile.scope, but_run=now.run_id)
        history = [Seen(record.run_id, record.at, profile_of_record(record)) for record in records]
        yield from find_anomalies(model, now, history, thresholds)


def profile_of_record(record: ProfileRecord) -> Profile:
    columns = tuple(ColumnProfile(**column) for column in record.columns)
    scope: Scope = "table" if record.scope == "table" else "written"
    return Profile(record.rows, columns, scope, record.table_rows, record.snapshot_id)
