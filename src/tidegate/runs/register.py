"""The first thing a run does: say in the state database that it is there."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta

from tidegate.config import Settings
from tidegate.errors import RunExistsError
from tidegate.state import RunRecord, StateStore

__all__ = ["register"]


def register(store: StateStore, settings: Settings, publish_mode: str, started_at: datetime) -> RunRecord:
    """A new run; its id is the first free one at or after this millisecond."""
    moment = started_at
    while True:
        run_id = f"run-{moment:%Y%m%d-%H%M%S}-{moment.microsecond // 1000:03d}"
        record = RunRecord(
            run_id=run_id,
            project=settings.project.name,
            command="run",
            branch=run_id,
            publish_mode=publish_mode,
            started_at=started_at,
            heartbeat_at=started_at,
            pid=os.getpid(),
            host=socket.gethostname(),
        )
        try:
            store.start_run(record)
            return record
        except RunExistsError:
            moment += timedelta(milliseconds=1)
