"""The history of runs: what happened, when, and how it ended. It never decides about data; the lake does."""

from tidegate.state.databases import open_reader, open_state
from tidegate.state.reader import StateReader
from tidegate.state.run_records import (
    AnomalyRecord,
    EventRecord,
    KeyRecord,
    ModelRunRecord,
    ProfileRecord,
    ProgressEntry,
    QualityRecord,
    RunRecord,
)
from tidegate.state.store import StateStore

__all__ = [
    "AnomalyRecord",
    "EventRecord",
    "KeyRecord",
    "ModelRunRecord",
    "ProfileRecord",
    "ProgressEntry",
    "QualityRecord",
    "RunRecord",
    "StateReader",
    "StateStore",
    "open_reader",
    "open_state",
]
