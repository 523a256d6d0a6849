"""The keys that complete snapshots lack, each with the first snapshot without it, of all snapshots of a batch at once.

The whole snapshots of a batch are numbered from 1; the table before them is number 0. A key was seen in an era: in the
whole snapshot of that number, or in one after it from which nothing can be inferred. A key that was seen in an era and
is not in the next whole snapshot is gone with that one. Where it is seen again later it comes back, as a row of its own
says.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.amounts import plural
from tidegate.contracts.ingestion import COMMIT_TIME, SEQUENCE
from tidegate.write.request import SNAPSHOT, DeleteRequest, WriteRequest
from tidegate.write.spark_sql import literal, quote, timestamp
from tidegate.write.write_columns import TableColumn, TableColumns

__all__ = ["GONE_AT", "GONE_SEQUENCE", "gone_for_good_sql", "gone_sql", "key_in_silver", "without_doubtful_snapshots"]

GONE_AT, GONE_SEQUENCE = "__tidegate_gone_at", "__tidegate_gone_sequence"
_ERA, _WHOLE, _LAST, _NEXT, _NEXT_WHOLE = (
    f"__tidegate_{name}" for name in ("era", "whole", "last", "next", "next_whole")
)
_AGAIN = f"({_NEXT} = {_ERA} + 1 AND {_NEXT_WHOLE})"
"""The key is in the next whole snapshot."""


def gone_sql(deletion: DeleteRequest, keys: TableColumns, live: str | None) -> str:
    """A SELECT of the keys that are gone, of GONE_AT, and of GONE_SEQUENCE.

    The sequence is that of the key's last row where that has the time of the snapshot, as two snapshots of one run may:
    the key is gone after that row, and before a row of a later snapshot. `live`: a query for the keys of the table that
    are not deleted; None: there is no table yet.
    """
    whole = [snapshot for snapshot in deletion.snapshots if snapshot.whole]
    taken = ", ".join(f"({era}, {timestamp(snapshot.taken)})" for era, snapshot in enumerate(whole, 1))
    last = f"IF(__k.{_LAST}.{quote(COMMIT_TIME)} = __w.taken, __k.{_LAST}.{quote(SEQUENCE)}, NULL)"
    return (
        f"SELECT {keys.sql('__k')}, __w.taken AS {GONE_AT}, {last} AS {GONE_SEQUENCE}"
        f" FROM ({_eras_of_keys(deletion, keys, live)}) __k JOIN (VALUES {taken}) AS __w(era, taken)"
        f" ON __w.era = __k.{_ERA} + 1 WHERE NOT coalesce({_AGAIN}, false)"
    )


def gone_for_good_sql(deletion: DeleteRequest, keys: TableColumns) -> str:
    """A SELECT of the keys that were there once and are not since the newest whole snapshot."""
    whole = sum(snapshot.whole for snapshot in deletion.snapshots)
    return (
        f"SELECT {keys.sql()} FROM ({_eras_of_keys(deletion, keys, None)}) WHERE {_NEXT} IS NULL AND {_ERA} < {whole}"
    )


def without_doubtful_snapshots(
    request: WriteRequest, keys: TableColumns, live: str | None
) -> tuple[WriteRequest, tuple[str, ...]]:
    """The request without inference from snapshots that were read in part, as later ones show, and what to say of them.

    A snapshot without keys that are there before and after it would delete and bring back each of them. Above the
    largest share that one run may delete it is taken for a failed read, as it is where it comes alone.
    """
    deletion = request.deletion
    if deletion is None or deletion.present is None or request.allow_deletes:
        return request, ()
    whole = [snapshot for snapshot in deletion.snapshots if snapshot.whole]
    if len(deletion.snapshots) < 2 or not whole:
        return request, ()
    keys_of, missed = _missed(request, deletion, keys, live)
    doubtful, warnings, missing = set[str](), [], 0
    for era, snapshot in enumerate(whole, 1):
        missing += missed.get(era, 0)
        there = keys_of.get(era, 0)
        if missing > deletion.rules.max_ratio * (there + missing):
            doubtful.add(snapshot.name)
            warnings.append(
                f"no deletion was inferred from the snapshot of {snapshot.name}, because it lacks "
                f"{missing} of {plural(there + missing, 'key')} that are there before and after it, which is more than "
                "deletion_max_ratio; if the source had deleted them, build the table again with --full-refresh "
                "--allow-deletes"
            )
    settled = tuple(replace(one, whole=one.whole and one.name not in doubtful) for one in deletion.snapshots)
    return replace(request, deletion=replace(deletion, snapshots=settled)), tuple(warnings)


def _missed(
    request: WriteRequest, deletion: DeleteRequest, keys: TableColumns, live: str | None
) -> tuple[dict[int, int], dict[int, int]]:
    """By era: the keys that its whole snapshot has, and how many more than in the era before are missing for a time."""
    comes_back = f"coalesce({_NEXT} IS NOT NULL AND NOT {_AGAIN}, false)"
    marks = (
        f"stack(3, {_ERA}, int({_WHOLE}), 0, {_ERA} + 1, 0, int({comes_back}),"
        f" {_NEXT} + IF({_NEXT_WHOLE}, 0, 1), 0, -int({comes_back})) AS (era, keys, missed)"
    )
    rows = request.session.sql(
        "SELECT era, sum(keys) AS keys, sum(missed) AS missed FROM"
        f" (SELECT {marks} FROM ({_eras_of_keys(deletion, keys, live)})) WHERE era IS NOT NULL GROUP BY era"
    ).collect()
    return {row["era"]: row["keys"] for row in rows}, {row["era"]: row["missed"] for row in rows}


def _eras_of_keys(deletion: DeleteRequest, keys: TableColumns, live: str | None) -> str:
    """Each key with each era in which it was seen, its last row so far, and the next era in which it was seen."""
    snapshots, era = [], 0
    for snapshot in deletion.snapshots:
        era += snapshot.whole
        snapshots.append(f"({literal(snapshot.name)}, {era}, {str(snapshot.whole).lower()})")
    names = ", ".join(f"{key_in_silver(key, '__p')} AS {key.quoted}" for key in keys)
    last = f"struct(__p.{quote(COMMIT_TIME)}, __p.{quote(SEQUENCE)})"
    seen = (
        f"SELECT {names}, __s.era AS {_ERA}, __s.whole AS {_WHOLE}, {last} AS {_LAST} FROM {deletion.present} __p"
        f" JOIN (VALUES {', '.join(snapshots)}) AS __s(name, era, whole) ON __s.name = __p.{SNAPSHOT}"
    )
    if live is not None:
        seen += f" UNION ALL SELECT {keys.sql()}, 0, true, NULL FROM ({live})"
    key = keys.sql()
    known = " AND ".join(f"{column.quoted} IS NOT NULL" for column in keys)
    # So partitioned, the rows are neither moved again for the groups nor for the window.
    by_key = f"SELECT /*+ REPARTITION({key}) */ * FROM ({seen}) WHERE {known}"
    by_era = (
        f"SELECT {key}, {_ERA}, bool_or({_WHOLE}) AS {_WHOLE}, max({_LAST}) AS {_LAST} FROM ({by_key})"
        f" GROUP BY {key}, {_ERA}"
    )
    window = f"(PARTITION BY {key} ORDER BY {_ERA})"
    return (
        f"SELECT {key}, {_ERA}, {_WHOLE}, max({_LAST}) OVER {window} AS {_LAST}, lead({_ERA}) OVER {window} AS {_NEXT},"
        f" lead({_WHOLE}) OVER {window} AS {_NEXT_WHOLE} FROM ({by_era})"
    )


def key_in_silver(key: TableColumn, relation: str) -> str:
    """A key of bronze may be text that is none in silver: such a key is that of no row."""
    return f"TRY_CAST({relation}.{key.quoted} AS {key.type_sql})"
