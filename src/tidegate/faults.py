"""Named points at which a process may be killed, to see what is left: `TIDEGATE_FAULT=<point>` switches one on.

`point:model` is the point for that model only, `point@3` the third time that it is reached. `TIDEGATE_FAULT_LOG=<file>`
logs each point that is reached, one line each.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tidegate.errors import ConfigError
from tidegate.names import TableName, nearest

__all__ = ["FAULT", "FAULT_LOG", "FAULT_POINTS", "Fault", "FaultPoint", "check_faults", "fault", "parse_fault"]

FAULT = "TIDEGATE_FAULT"
FAULT_LOG = "TIDEGATE_FAULT_LOG"


@dataclass(frozen=True, slots=True)
class FaultPoint:
    means: str
    of_model: bool = False
    """It is reached once or more for each model that is built."""

    of_load: bool = False
    """A chunked load reaches it, and a run never does."""


FAULT_POINTS: Mapping[str, FaultPoint] = {
    "after_register": FaultPoint("The run is in the history; nothing else has happened."),
    "before_ingest": FaultPoint("A source is about to be read; nothing of the read is recorded."),
    "after_bounds": FaultPoint("The bounds of the read are recorded; no batch is landed."),
    "before_batch": FaultPoint("The files of a batch are complete, under temporary names."),
    "after_batch": FaultPoint("The files of a batch are landed; the manifest does not have it."),
    "after_batch_recorded": FaultPoint("The manifest has the batch, and the state after it."),
    "before_ingest_complete": FaultPoint("Every batch is landed; the manifest is not complete."),
    "after_ingest_complete": FaultPoint("The manifest is complete; nothing of it is in bronze."),
    "before_branch": FaultPoint("Everything is planned and Spark is running; there is no branch yet."),
    "inside_branch": FaultPoint("Nessie: the branch is created, without its record of which run it belongs to."),
    "after_branch": FaultPoint("The run's branch is created and empty."),
    "before_build": FaultPoint("The model is about to be built.", of_model=True),
    "after_build": FaultPoint("Its query is ready to run; nothing is written.", of_model=True),
    "before_write": FaultPoint("Its rows are about to be written.", of_model=True),
    "after_quarantine": FaultPoint("Rejected rows are in quarantine; the valid ones are not written.", of_model=True),
    "between_commits": FaultPoint("The first of two commits of one write is done.", of_model=True),
    "after_write": FaultPoint("Its rows are on the branch; its progress is not recorded.", of_model=True),
    "after_consumed": FaultPoint("The list of consumed landing files is written; nothing refers to it.", of_model=True),
    "before_progress": FaultPoint("Its progress is about to be recorded on its table.", of_model=True),
    "after_progress": FaultPoint("Its progress is recorded on its table; nothing is checked.", of_model=True),
    "before_checks": FaultPoint("Its checks are about to run.", of_model=True),
    "after_checks": FaultPoint("Its checks have passed; that the model is done is not recorded.", of_model=True),
    "before_entry": FaultPoint("That the model is done is about to be recorded, for a resume.", of_model=True),
    "after_entry": FaultPoint("That the model is done is recorded.", of_model=True),
    "before_publish": FaultPoint("Tables are about to move to main."),
    "inside_publish": FaultPoint("Nessie, REST: main has moved; the branch still has its old base."),
    "after_publish": FaultPoint("Main has moved; the history does not have it yet."),
    "before_refresh": FaultPoint("Another run published a table first; the branch is about to be refreshed from main."),
    "after_refresh": FaultPoint("The branch is refreshed from main; the conflicting tables are about to be rebuilt."),
    "before_archive": FaultPoint("Landing files that are published are about to be moved away."),
    "inside_archive": FaultPoint("A landing file's new place is reserved; the file is not moved."),
    "after_archive": FaultPoint("Landing files are moved away."),
    "before_cleanup": FaultPoint("The branch is about to be dropped, or kept for `tidegate publish`."),
    "after_cleanup": FaultPoint("The branch is gone, or kept."),
    "before_maintenance": FaultPoint("Maintenance is about to start."),
    "inside_maintenance": FaultPoint("A table is compacted or expired on maintenance's branch, and not published."),
    "after_maintenance": FaultPoint("Maintenance is done."),
    "before_history": FaultPoint("The result of the run is about to be recorded."),
    "after_history": FaultPoint("The result of the run is recorded."),
    "before_chunks": FaultPoint("A raw file is about to be split; nothing of it is written.", of_load=True),
    "after_chunk": FaultPoint("A chunk is written; nothing records it.", of_load=True),
    "after_chunks": FaultPoint("Every chunk of a raw file is written; nothing records them.", of_load=True),
    "after_parent": FaultPoint("The chunks are recorded; the raw file is not archived.", of_load=True),
    "after_raw_archive": FaultPoint("The raw file is archived; its metadata does not say so.", of_load=True),
    "after_chunked": FaultPoint("The raw file is archived, and its metadata says so.", of_load=True),
    "before_process": FaultPoint("Chunks are about to be processed; nothing is written.", of_load=True),
    "after_process_job": FaultPoint("The rows of chunks are judged and written, under temporary names.", of_load=True),
    "after_processed": FaultPoint("The valid rows of a chunk are in place, its rejected rows are not.", of_load=True),
    "after_errors": FaultPoint("The rows of a chunk are in place; its metadata is not written.", of_load=True),
    "after_chunk_metadata": FaultPoint(
        "The metadata of a chunk is written; the raw chunk is still there.", of_load=True
    ),
    "after_chunk_delete": FaultPoint("A raw chunk is deleted.", of_load=True),
    "after_requeue": FaultPoint("A raw file is in bronze again; its metadata does not say so.", of_load=True),
    "before_load_batch": FaultPoint("The chunks of a batch are chosen; nothing of it is recorded.", of_load=True),
    "after_load_batch": FaultPoint("The parent has the batch and its number; the table does not.", of_load=True),
    "after_load_table": FaultPoint("The table has the columns of the batch; it has no row of it.", of_load=True),
    "after_load_commit": FaultPoint("The table has the batch; the parent does not count it.", of_load=True),
    "after_load_counted": FaultPoint("The parent counts the batch; its chunks are still there.", of_load=True),
    "inside_load_cleanup": FaultPoint("Some files of the batch's chunks are removed.", of_load=True),
    "after_load_cleanup": FaultPoint("The files of the batch's chunks are removed.", of_load=True),
}
"""In the order in which a run reaches them, then those of chunked loads."""

_FORM = re.compile(r"(?P<point>[^:@]*)(?::(?P<model>[^@]+))?(?:@(?P<times>[1-9]\d*))?")
_times: Counter[Fault] = Counter()
_counting = threading.Lock()


@dataclass(frozen=True, slots=True)
class Fault:
    point: str
    model: str | None = None
    """None: any model."""
    times: int = 1
    """It is the n-th time that the point is reached."""

    def __str__(self) -> str:
        return "".join(_parts(self))


def fault(point: str, model: TableName | None = None) -> None:
    """Kill this process, as a power cut would, if this point is switched on."""
    log, armed = os.environ.get(FAULT_LOG), os.environ.get(FAULT)
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{Fault(point, _short(model) if model else None)}\n")
    if armed:
        _die_at(parse_fault(armed), point, model)


def check_faults() -> None:
    """Raise ConfigError where TIDEGATE_FAULT names no point: nothing would be killed, and a test would seem to pass."""
    if armed := os.environ.get(FAULT):
        parse_fault(armed)


@lru_cache
def parse_fault(text: str, where: str = FAULT) -> Fault:
    """`where`: where the text was given, for messages."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f"'{text}' is not of the form point, point:model, point@3 or point:model@3", where=where, remedy=_LISTED
        )
    point, model = match["point"], match["model"]
    if point not in FAULT_POINTS:
        close = nearest(point, FAULT_POINTS)
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        raise ConfigError(f"There is no fault point '{point}'", where=where, remedy=f"{meant}{_LISTED}")
    if model and not FAULT_POINTS[point].of_model:
        raise ConfigError(f"The fault point '{point}' is not about a model", where=where, remedy=f"Write {point}.")
    return Fault(point, model, int(match["times"] or 1))


_LISTED = "`tidegate chaos --list` lists them."


def _parts(armed: Fault) -> Iterator[str]:
    yield armed.point
    if armed.model:
        yield f":{armed.model}"
    if armed.times > 1:
        yield f"@{armed.times}"


def _short(model: TableName) -> str:
    return f"{model.layer}.{model.name}"


def _die_at(armed: Fault, point: str, model: TableName | None) -> None:
    names = (None, _short(model), str(model)) if model else (None,)
    if armed.point != point or armed.model not in names:
        return
    with _counting:
        _times[armed] += 1
        if _times[armed] == armed.times:
            os.kill(os.getpid(), signal.SIGKILL)
