"""Several processes on one lake at the same time."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.lake.places import Place
from tidegate.errors import LakeUnavailableError, PublishConflictError
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.catalogs.embedded import CatalogDatabase, EmbeddedCatalog
from tidegate.names import TableName

TABLES = [TableName("shop", "silver", f"t{n}") for n in range(4)]


def _catalog(folder: Path) -> EmbeddedCatalog:
    return EmbeddedCatalog(folder / "catalog.db", folder / "warehouse")


def _version(pointer: Pointer | None) -> int:
    return int(pointer.location.removeprefix("file:/w/").split("-")[0]) if pointer else 0


def _count_up(place: Place, worker: str, times: int) -> int:
    """Adds one to every table's version, again and again; gives the number of conflicts met."""
    catalog, conflicts = place.open(), 0
    for turn in range(times):
        while True:
            branch = f"run-{worker}-{turn}-{conflicts}"
            catalog.create_branch(branch)
            for table in TABLES:
                version = _version(catalog.pointer(branch, table))
                catalog.restore(branch, table, Pointer(PointerKind.TABLE, f"file:/w/{version + 1}-{branch}"))
            try:
                catalog.publish(branch, TABLES)
                break
            except PublishConflictError:
                conflicts += 1
            finally:
                catalog.drop_branch(branch)
    return conflicts


def test_processes_that_publish_at_once_lose_no_update_and_readers_see_all_or_nothing(place: Place) -> None:
    reader, seen, rounds = place.open(), set(), 0
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        while len(seen) < 2:  # on a busy machine all publishes of a round may come between two reads
            rounds += 1
            work = [pool.submit(_count_up, place, name, 3) for name in "abc"]
            while not all(future.done() for future in work):
                heads = reader.head()
                versions = {_version(heads.get(table)) for table in TABLES}
                assert len(versions) == 1 or not reader.capabilities.atomic_publish
                seen |= versions
            for future in work:
                future.result()
    counted = {_version(pointer) for pointer in reader.head().values()}
    # Where a publish is not one step, what is called a conflict may have moved a part, which is then counted again.
    assert counted == {9 * rounds} or (not reader.capabilities.atomic_publish and min(counted) >= 9 * rounds)
    assert reader.list_branches() == ()


def test_a_write_lock_held_for_a_moment_fails_nobody(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path)
    catalog.create_branch("run-1")
    with closing(sqlite3.connect(catalog.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
        release.start()
        catalog.heartbeat("run-1")
        release.join()


def test_a_write_lock_held_for_ever_is_named(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path)
    catalog.create_branch("run-1")
    impatient = CatalogDatabase(catalog.path, timeout=0.05)
    with closing(sqlite3.connect(catalog.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LakeUnavailableError, match="locked") as caught, impatient.write():
            pass
        assert len(catalog.list_branches()) == 1
    assert caught.value.where == str(catalog.path)
    assert "another process" in str(caught.value.remedy)
