"""A copy of a lake to break: its own catalog, warehouse, landing files and history, and no hooks."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.config import BudgetSection, DatabaseUrl, LakeSection, NessieServer, Settings, StateSection
from tidegate.errors import LakeError, LakeUnavailableError, TidegateError
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import BranchCatalog, Heads, Pointer
from tidegate.lake.consumed import consumed_files
from tidegate.lake.metadata import load_json, local_path, read_metadata
from tidegate.names import TableName
from tidegate.storage.atomic_files import write_atomically

if TYPE_CHECKING:
    from tidegate.lake.catalogs.nessie_api import NessieApi

__all__ = [
    "Landing",
    "Scratch",
    "copy_landing",
    "lake_in",
    "list_landing",
    "make_place",
    "make_scratch",
    "place_text",
    "relocate",
    "remove_place",
    "require_place",
    "settings_in",
]


def require_place(lake: LakeSection) -> None:
    """Raise where a copy of the lake would not be apart from it."""
    if lake.catalog not in ("embedded", "jdbc", "nessie"):
        raise TidegateError(
            f"chaos cannot copy a lake whose catalog is '{lake.catalog}'",
            where="[lake] catalog",
            remedy="It works with embedded, jdbc and nessie, where a copy has a catalog of its own: use a second"
            " configuration file with one of these (--config FILE).",
        )


def lake_in(lake: LakeSection, folder: Path, name: str) -> LakeSection:
    """The same kind of lake below `folder`. `name` is what its schema or its main is called."""
    copied = replace(lake, catalog_path=folder / "catalog.db", warehouse=folder / "warehouse")
    if lake.jdbc is not None:
        options = f"{lake.jdbc.parameters.get('options', '')} -c search_path={name}".strip()
        return replace(copied, jdbc=replace(lake.jdbc, parameters={**lake.jdbc.parameters, "options": options}))
    if lake.nessie is not None:
        return replace(copied, nessie=replace(lake.nessie, ref=name))
    return copied


def place_text(lake: LakeSection, name: str) -> str:
    """What remains outside the folder, as text for users; empty if everything is inside."""
    if lake.jdbc is not None:
        return f"schema {name} of {lake.jdbc.address}"
    return f"branch {name} of {lake.nessie.uri}" if lake.nessie is not None else ""


def make_place(lake: LakeSection, name: str) -> None:
    """`lake` is the one that is copied."""
    if lake.jdbc is not None:
        _in_database(lake.jdbc, f'CREATE SCHEMA "{name}"')
    elif lake.nessie is not None:
        api = _nessie(lake.nessie)
        # Includes everything on main; the copy then points its tables elsewhere.
        api.create_branch(name, api.reference(lake.nessie.ref))


def remove_place(lake: LakeSection, name: str) -> None:
    """Also where it was never made."""
    if lake.jdbc is not None:
        _in_database(lake.jdbc, f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
    elif lake.nessie is not None:
        from tidegate.lake.catalogs.nessie_api import NoReferenceError

        api = _nessie(lake.nessie)
        with suppress(NoReferenceError):
            api.delete_branch(name, api.reference(name).hash)


def _nessie(server: NessieServer) -> NessieApi:
    from tidegate.lake.catalogs.nessie_api import NessieApi

    return NessieApi(server)


def _in_database(url: DatabaseUrl, statement: str) -> None:
    import psycopg

    arguments: dict[str, Any] = {
        "application_name": "tidegate",
        **url.parameters,
        "host": url.host,
        "port": url.port,
        "dbname": url.database,
        "user": url.user,
        "password": url.password.reveal() if url.password else None,
    }
    try:
        with psycopg.connect(**arguments, autocommit=True) as connection:
            connection.execute(statement.encode())
    except psycopg.Error as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise LakeUnavailableError(
            f"The copy of the lake cannot have a schema of its own: {reason}",
            where=url.address,
            remedy="Let this user create schemas (GRANT CREATE ON DATABASE), or use another database (--config FILE).",
        ) from error


_PATH_PROPERTIES = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
"""Properties by which a table's files would go elsewhere than to its folder."""


def relocate(pointer: Pointer, table: TableName, warehouse: Path) -> Pointer:
    folder = warehouse / table.namespace / table.layer / table.name
    data: dict[str, Any] = load_json(pointer.location)
    properties = {key: value for key, value in data.get("properties", {}).items() if key not in _PATH_PROPERTIES}
    moved = {**data, "location": f"file:{folder}", "properties": properties}
    # By the name Iceberg knows whether the file is compressed, and this one is not.
    name = local_path(pointer.location).name.replace(".gz.metadata.json", ".metadata.json")
    path = folder / "metadata" / name
    write_atomically(path, json.dumps(moved, separators=(",", ":"), ensure_ascii=False).encode())
    metadata = read_metadata(pointer)
    for location in consumed_files(metadata.table_location, metadata.progress):
        consumed = local_path(location)
        shutil.copyfile(consumed, path.with_name(consumed.name))
    return Pointer(pointer.kind, f"file:{path}")


Landing = tuple[tuple[str, ...], tuple[tuple[int, int], ...]]
"""The files that wait, by path; and size and time of every file, also of those that were moved away."""

_ARCHIVE = "_processed"


def copy_landing(source: Path, target: Path) -> None:
    """Files that were archived stay where they are. Times are kept: they show which files were read before."""
    target.mkdir(parents=True)
    visited: set[str] = set()
    for parent, folders, files in os.walk(source, followlinks=True):
        real = os.path.realpath(parent)
        # A folder that is linked into itself has no end.
        folders[:] = [] if real in visited else [name for name in folders if name != _ARCHIVE]
        visited.add(real)
        # A folder of its own also where the source has a link: what is moved away here must not be moved there.
        folder = target / Path(parent).relative_to(source)
        folder.mkdir(exist_ok=True)
        for name in files:
            _copy(Path(parent) / name, folder / name)


def _copy(source: Path, target: Path) -> None:
    """The same file under a second name where the disk allows it: no process writes into a landing file."""
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy2(source, target)


def list_landing(root: Path) -> Landing:
    waiting: list[str] = []
    every: Counter[tuple[int, int]] = Counter()
    for parent, _, files in os.walk(root):
        relative = Path(parent).relative_to(root)
        for name in files:
            status = (Path(parent) / name).stat()
            if _ARCHIVE not in relative.parts:
                waiting.append((relative / name).as_posix())
            elif not status.st_size:
                continue  # reserved by a process that was killed before it moved the file
            every[status.st_size, status.st_mtime_ns] += 1
    return tuple(sorted(waiting)), tuple(sorted(every.elements()))


def settings_in(settings: Settings, folder: Path, name: str) -> Settings:
    """The project's settings for the copy that is in `folder`: another lake, other files, no hooks and no worker."""
    return replace(
        settings,
        spark=replace(settings.spark, keep_alive=timedelta()),
        lake=lake_in(settings.lake, folder, name),
        state=StateSection(f"sqlite:///{folder / 'state.db'}"),
        landing=replace(settings.landing, root=folder / "landing"),
        hooks=(),
        callback=None,
        budget=BudgetSection(),
    )


@dataclass(frozen=True, slots=True)
class Scratch:
    original: Settings
    """Of the lake that was copied."""

    folder: Path
    name: str
    """Of the copy's schema or main."""

    @property
    def settings(self) -> Settings:
        return settings_in(self.original, self.folder, self.name)

    @property
    def catalog(self) -> BranchCatalog:
        return open_catalog(self.settings)

    @property
    def outside(self) -> str:
        """The parts that are not in the folder, as text for users."""
        return place_text(self.original.lake, self.name)

    def remove(self) -> None:
        """Best effort: what is left does no harm."""
        self.leave()
        with suppress(TidegateError):
            remove_place(self.original.lake, self.name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def leave(self) -> None:
        """Drop what would conflict with the next copy: branch names on a server depend only on the time."""
        if self.original.lake.nessie is None:
            return
        with suppress(TidegateError):
            for branch in self.catalog.list_branches():
                self.catalog.drop_branch(branch.name)


def make_scratch(settings: Settings, heads: Heads, folder: Path, name: str) -> Scratch:
    """A copy of the lake as it was when `heads` was read."""
    scratch = Scratch(settings, folder, name)
    folder.mkdir(parents=True)
    make_place(settings.lake, name)
    try:
        _fill(scratch, heads)
        copy_landing(settings.landing.root, scratch.settings.landing.root)
    except OSError as error:
        scratch.remove()
        raise LakeError(
            f"the lake cannot be copied: {error.strerror or error}",
            where=str(error.filename or folder),
            remedy="Check whether maintenance runs on the lake at this moment, and whether the disk has space.",
        ) from error
    except BaseException:
        scratch.remove()
        raise
    return scratch


def _fill(scratch: Scratch, heads: Heads) -> None:
    catalog, warehouse = scratch.catalog, scratch.settings.lake.warehouse
    branch = f"read-{datetime.now(UTC):%Y%m%d-%H%M%S}-{scratch.name.replace('_', '-')}"
    catalog.create_branch(branch)
    try:
        for table, pointer in sorted(heads.items()):
            catalog.create_namespace(branch, table)
            catalog.restore(branch, table, relocate(pointer, table, warehouse))
        catalog.publish(branch, list(heads))
    finally:
        catalog.drop_branch(branch)
