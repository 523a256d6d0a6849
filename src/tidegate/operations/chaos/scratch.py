"""A copy of a lake to break: with a catalog, a warehouse, landing files and a history of its own, and no listeners."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tidegate.config import BudgetSection, Settings, StateSection
from tidegate.errors import LakeError, TidegateError
from tidegate.lake import open_catalog
from tidegate.lake.port import BranchCatalog, Heads
from tidegate.operations.chaos.landing import copy_landing
from tidegate.operations.chaos.places import lake_in, make_place, place_text, remove_place
from tidegate.operations.chaos.relocating import relocate

__all__ = ["Scratch", "make_scratch", "settings_in"]


def settings_in(settings: Settings, folder: Path, name: str) -> Settings:
    """The project's settings for the copy that is in `folder`: another lake, other files, and nobody who listens."""
    return replace(
        settings,
        lake=lake_in(settings.lake, folder, name),
        state=StateSection(f"sqlite:///{folder / 'state.db'}"),
        landing=replace(settings.landing, root=folder / "landing"),
        hooks=(),
        callback=None,
        budget=BudgetSection(),
    )


@dataclass(frozen=True, slots=True)
class Scratch:
    """`original` are the settings of the lake that was copied. `name` is what the copy's schema or main is called."""

    original: Settings
    folder: Path
    name: str

    @property
    def settings(self) -> Settings:
        return settings_in(self.original, self.folder, self.name)

    @property
    def catalog(self) -> BranchCatalog:
        return open_catalog(self.settings)

    @property
    def outside(self) -> str:
        """What of it is not in the folder, for people."""
        return place_text(self.original.lake, self.name)

    def remove(self) -> None:
        """Best effort: what is left does no harm."""
        self.leave()
        with suppress(TidegateError):
            remove_place(self.original.lake, self.name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def leave(self) -> None:
        """Drop what the next copy would stumble over: branches of a server are named by time alone."""
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
            remedy="See whether somebody maintains the lake at this moment, and whether the disk has space.",
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
