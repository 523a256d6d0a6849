"""The deletes of a source that no row of the batch says: by complete snapshots, and by earlier delete signals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tidegate.amounts import plural
from tidegate.contracts.ingestion import COMMIT_TIME, SEQUENCE, Ingestion, SourceRules
from tidegate.ingest.batch_manifest import read_manifests
from tidegate.ingest.bronze_position import PARTIAL_PROPERTY, files_in_bronze, snapshot_of
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName, quote
from tidegate.transform.silver import STAGE, ValidatedRows, mark_rows
from tidegate.write.request import DELETED, SNAPSHOT, DeleteRequest, SourceSnapshot
from tidegate.write.staging import persisted_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.runs.build.table_build import TableBuild

__all__ = ["source_deletes"]

_EPOCH = datetime.fromtimestamp(0, UTC)
_TOMBSTONES, _PRESENT, _REPLAYED = "__tidegate_tombstones", "__tidegate_present", "replayed rows"
_MOST_FILES = 1000


@contextmanager
def source_deletes(
    build: TableBuild, ingestion: Ingestion, rows: ValidatedRows, delivered: DataFrame | None, bronze: TableName
) -> Iterator[DeleteRequest | None]:
    """What the writer must know of keys that are gone. `delivered`: the rows of bronze that are new to the table; None
    where it is built from all of them, so that every delete signal is among them."""
    rules, session = ingestion.silver.deletion, build.session
    if rules is None:
        yield None
        return
    with ExitStack() as stack:
        request = DeleteRequest(rules)
        if rules.inferred:
            if build.decision.replay and delivered is not None:
                keys, snapshots = _snapshots_after(build, ingestion, delivered, bronze)
            else:
                assert rows.marked is not None  # rows of a contract that applies deletes are compared
                keys, snapshots = _snapshots(build, ingestion, rows.marked, bronze)
            if any(snapshot.whole for snapshot in snapshots):
                present = stack.enter_context(persisted_view(session, keys, _PRESENT, on_disk=True))
                request = replace(request, present=present, snapshots=snapshots)
        elif delivered is not None:
            signals = _tombstones(build, ingestion, delivered, bronze)
            if signals is not None:
                signals.createOrReplaceTempView(_TOMBSTONES)
                stack.callback(session.catalog.dropTempView, _TOMBSTONES)
                request = replace(request, tombstones=_TOMBSTONES)
        yield request


def _tombstones(build: TableBuild, ingestion: Ingestion, delivered: DataFrame, bronze: TableName) -> DataFrame | None:
    """The delete signals of bronze that a new row may be older than: it must not come back to life. None: there are
    none, as no new row is about a key that lives.

    Rows mostly come in the order of their times, and then Iceberg leaves out all files but the new ones.
    """
    live = delivered.where("coalesce(_op <> 'delete', true)").selectExpr(f"unix_micros(min({COMMIT_TIME})) AS first")
    oldest = live.collect()[0]["first"]
    if oldest is None:
        return None
    rows = build.session.table(bronze.quoted).where(f"{COMMIT_TIME} >= timestamp_micros({oldest})")
    if ingestion.silver.indicator is None:
        rows = rows.where("_op = 'delete'")  # Iceberg leaves out files without one
    keys = [quote(name) for name in ingestion.silver.key]
    signals = mark_rows(rows, ingestion.silver).where(f"{DELETED} AND {STAGE} IS NULL")
    return signals.select(*keys, COMMIT_TIME, SEQUENCE)


def _snapshots(
    build: TableBuild, ingestion: Ingestion, marked: DataFrame, bronze: TableName
) -> tuple[DataFrame, tuple[SourceSnapshot, ...]]:
    """The keys of each complete snapshot that these rows are of, those of refused rows included; and the snapshots.

    From one in which a row has no valid key or a record could not be read nothing can be inferred, because the key that
    seems to be gone may be that one's. What those before it lack is gone nevertheless, as it was when they were read
    alone.
    """
    from pyspark.sql import functions as f

    # As `snapshot_of` names it.
    snapshot = f.col("_run_id")
    if ingestion.source.connector.reads_source:
        snapshot = f.element_at(f.split(f.col("_source_file"), "/"), -2)
    keys = [f.col(quote(name)) for name in ingestion.silver.key]
    has_no_key = f.greatest(*(key.isNull() for key in keys), f.lit(False))
    found = marked.groupBy(snapshot.alias("name")).agg(
        f.max("_ingested_at").alias("ingested"),
        f.unix_micros(f.max(COMMIT_TIME)).alias("taken"),
        f.count_if(has_no_key).alias("keyless"),
    )
    zone = build.run.settings.landing.root / ingestion.source.zone
    ordinals = {manifest.run_id: manifest.ordinal for manifest in read_manifests(zone)}
    # Names go by the clock, which may have gone back between two snapshots that one run reads.
    by_time = sorted(found.collect(), key=lambda row: (row["ingested"], ordinals.get(row["name"], 0), row["name"]))
    metadata = build.run.lake.table(bronze)
    assert metadata is not None
    partial = set(json.loads(metadata.properties.get(PARTIAL_PROPERTY, "[]")))
    bad = _bad_records(build, ingestion.source, bronze, metadata, {row["name"] for row in by_time})
    unreadable = {row["name"]: row["keyless"] + bad[row["name"]] for row in by_time}
    if by_time:
        build.notes += _notes(by_time[-1]["name"] in partial, unreadable[by_time[-1]["name"]])
    newest = f.max(f.struct(COMMIT_TIME, SEQUENCE)).alias("newest")
    present = marked.groupBy(*keys, snapshot.alias(SNAPSHOT)).agg(newest).select(*keys, SNAPSHOT, "newest.*")
    snapshots = (
        SourceSnapshot(
            row["name"],
            _EPOCH + timedelta(microseconds=row["taken"]),
            whole=not unreadable[row["name"]] and row["name"] not in partial,
        )
        for row in by_time
    )
    return present, tuple(snapshots)


def _snapshots_after(
    build: TableBuild, ingestion: Ingestion, delivered: DataFrame, bronze: TableName
) -> tuple[DataFrame, tuple[SourceSnapshot, ...]]:
    """The same for replayed rows: those of their keys that the newest whole snapshot of bronze lacks are gone since."""
    from pyspark.sql import functions as f

    every = mark_rows(build.session.table(bronze.quoted), ingestion.silver)
    present, snapshots = _snapshots(build, ingestion, every, bronze)
    newest = next((snapshot for snapshot in reversed(snapshots) if snapshot.whole), None)
    if newest is None:
        return present, ()
    own = mark_rows(delivered, ingestion.silver).withColumn(SNAPSHOT, f.lit(_REPLAYED)).select(*present.columns)
    replayed = SourceSnapshot(_REPLAYED, newest.taken, whole=False)
    return own.unionByName(present.where(f.col(SNAPSHOT) == newest.name)), (replayed, newest)


def _notes(is_partial: bool, unreadable: int) -> Iterator[str]:
    """Why nothing is inferred from the newest snapshot."""
    if is_partial:
        yield "no deletion was inferred, because files of the newest snapshot are not in the landing zone any more"
    if unreadable:
        yield (
            f"no deletion was inferred, because {plural(unreadable, 'row')} of the snapshot cannot be read or have no "
            "valid key, and may be those that seem to be gone. `tidegate quarantine list` counts them"
        )


def _bad_records(
    build: TableBuild, source: SourceRules, bronze: TableName, metadata: TableMetadata, names: set[str]
) -> Counter[str]:
    """By snapshot, of those with these names. A record that cannot be read is no row of bronze."""
    from pyspark.sql import functions as f

    counts = Counter[str]()
    if not names or build.run.lake.table(bronze.quarantine) is None:
        return counts
    files = {
        f"{source.zone}/{file.path}": snapshot_of(file, source.connector)
        for file in files_in_bronze(metadata, source.zone)
    }
    files = {path: name for path, name in files.items() if name in names}
    refused = build.session.table(bronze.quarantine.quoted)
    if len(files) <= _MOST_FILES:
        refused = refused.where(f.col("_source_file").isin(list(files)))
    for path, records in refused.groupBy("_source_file").count().collect():
        if path in files:
            counts[files[path]] += records
    return counts
