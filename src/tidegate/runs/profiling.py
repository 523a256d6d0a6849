"""What the models of a run wrote, put down, and compared with what earlier runs wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime

from tidegate.config import AnomaliesSection
from tidegate.project.model import ModelSettings
from tidegate.quality.anomaly_rules import MOST_RUNS, Anomaly, Seen, find_anomalies
from tidegate.quality.column_profiles import ColumnProfile, Profile, Scope
from tidegate.state import ProfileRecord, StateReader

__all__ = ["profile_of_record", "profile_record", "unusual"]


def profile_record(run_id: str, model: str, at: datetime, profile: Profile) -> ProfileRecord:
    """Of what waits on the branch; when it is published, its record is told."""
    return ProfileRecord(
        run_id=run_id,
        model=model,
        at=at,
        scope=profile.scope,
        rows=profile.rows,
        table_rows=profile.table_rows,
        snapshot_id=profile.snapshot_id,
        published=False,
        columns=tuple(map(asdict, profile.columns)),
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
