"""What the tables of main record of the runs that made them: what a test asks where there are no rows to look at."""

from __future__ import annotations

from tests.projects import ProjectFolder
from tidegate.lake import read_consumed
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import Progress
from tidegate.names import TableName


def progress_of(shop: ProjectFolder, name: str) -> Progress:
    progress = shop.main.progress(TableName.parse(name, "shop"))
    assert progress is not None
    return progress


def table_of(shop: ProjectFolder, name: str) -> TableMetadata:
    metadata = shop.main.table(TableName.parse(name, "shop"))
    assert metadata is not None
    return metadata


def is_current(shop: ProjectFolder, name: str) -> bool:
    """Whether the table was made of what main has now of every table that its query read."""
    read = {table: state for table, state in progress_of(shop, name).tables.items() if shop.main.table(_full(table))}
    assert read
    return all(state.state == table_of(shop, table).table_input().state for table, state in read.items())


def files_taken(shop: ProjectFolder, name: str, zone: str) -> list[str]:
    """The landing files whose rows the table has: one that was taken twice stands here twice."""
    location, taken = table_of(shop, name).table_location, progress_of(shop, name).zones[zone]
    return sorted(file.path for file in read_consumed(location, taken).files)


def runs_in(shop: ProjectFolder, name: str) -> list[str]:
    """The runs that wrote rows to the table, in order: each commit that main holds."""
    snapshots = sorted(table_of(shop, name).snapshots.values(), key=lambda snapshot: snapshot.sequence_number)
    return [snapshot.summary["tidegate.run-id"] for snapshot in snapshots]


def _full(table: str) -> TableName:
    return TableName.parse(table, "shop")
