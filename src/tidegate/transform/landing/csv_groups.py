"""CSV files in groups that are read together: same columns in the same places, same dialect."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql.types import StructType

from tidegate.config import ZoneSettings
from tidegate.transform.landing.bad_records import UnreadableFileError, look_at_each
from tidegate.transform.landing.csv_dialect import Dialect, find_dialect, refuse_suspicious_column
from tidegate.transform.landing.csv_files import CsvShape, inspect
from tidegate.transform.landing.raw import SECTION
from tidegate.transform.landing.schemas import by_name

__all__ = ["CsvGroup", "all_names", "declared_notes", "group_files", "missing_notes", "set_apart"]

_DATA = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]+)*(?:[eE][-+]?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].*)?")


@dataclass(frozen=True, slots=True)
class CsvGroup:
    """Files that have the same columns in the same places.

    `whole`: records may span lines. `apart`: the files hold bad records and are read record by record.
    """

    names: tuple[str, ...]
    dialect: Dialect
    whole: bool
    paths: tuple[Path, ...]
    apart: bool = False


def group_files(
    paths: Sequence[Path], settings: ZoneSettings, declared: StructType | None
) -> tuple[tuple[CsvGroup, ...], frozenset[Path]]:
    """The groups, and the files in which a quote may never be closed."""
    header = settings.header is not False

    def look(path: Path) -> tuple[CsvShape, tuple[str, ...]] | None:
        dialect = find_dialect(path, settings)
        shape = inspect(path, dialect, settings.multiline, escape_declared=settings.escape is not None)
        if shape.first is None:
            return None
        refuse_suspicious_column(path, shape.first, settings)
        if settings.header is None:
            _refuse_data_as_header(path, shape.first)
        return shape, _names_of_header(path, shape.first) if header else _names_by_place(path, shape.first, declared)

    groups: dict[tuple[tuple[str, ...], Dialect, bool], list[Path]] = {}
    unclosed: set[Path] = set()
    for path, looked in zip(paths, look_at_each(look, paths), strict=True):
        if looked is not None:
            shape, names = looked
            if shape.open_quotes:
                unclosed.add(path)
            groups.setdefault((names, shape.dialect, shape.whole), []).append(path)
    return tuple(CsvGroup(*key, tuple(group_paths)) for key, group_paths in groups.items()), frozenset(unclosed)


def set_apart(groups: Iterable[CsvGroup], paths: Collection[Path]) -> tuple[CsvGroup, ...]:
    """The same files, those of `paths` in groups of their own."""
    divided = []
    for group in groups:
        bad = tuple(path for path in group.paths if group.apart or path in paths)
        good = tuple(path for path in group.paths if path not in bad)
        divided += [replace(group, paths=good)] if good else []
        divided += [replace(group, paths=bad, apart=True)] if bad else []
    return tuple(divided)


def all_names(groups: Iterable[CsvGroup]) -> tuple[str, ...]:
    names: dict[str, str] = {}
    for group in groups:
        for name in group.names:
            names.setdefault(name.casefold(), name)
    return tuple(names.values())


def missing_notes(groups: Sequence[CsvGroup], known_columns: Sequence[str]) -> tuple[str, ...]:
    """Columns of earlier files that some files lack; usually the header is spelled differently."""
    notes = []
    for group in groups:
        present = {name.casefold() for name in group.names}
        if missing := [name for name in known_columns if name.casefold() not in present]:
            columns = f"column {missing[0]} is" if len(missing) == 1 else f"columns {', '.join(missing)} are"
            notes.append(f"{_which(group)}: {columns} missing, which earlier files had: NULL in these rows")
    return tuple(notes)


def _which(group: CsvGroup) -> str:
    first, more = group.paths[0].name, len(group.paths) - 1
    return first if not more else f"{first} and {more} more"


def declared_notes(groups: Sequence[CsvGroup], declared: StructType) -> tuple[str, ...]:
    declared_fields = by_name(declared)
    notes = []
    for group in groups:
        which = _which(group)
        present = {name.casefold() for name in group.names}
        if extra := [name for name in group.names if name.casefold() not in declared_fields]:
            notes.append(f"{which}: columns that are not declared are not read: {', '.join(extra)}")
        if missing := [field.name for key, field in declared_fields.items() if key not in present]:
            notes.append(f"{which}: declared columns that are not there are NULL: {', '.join(missing)}")
    return tuple(notes)


def _refuse_data_as_header(path: Path, record: tuple[str, ...]) -> None:
    """A number or a day is hardly the name of a column: the row would be lost as one."""
    for field in record:
        if _DATA.fullmatch(field.strip()):
            raise UnreadableFileError(
                path,
                f"seems to have no header: '{field.strip()}' in its first record is a value, not a name",
                remedy=f"declare header = false in {SECTION}, and columns to name them; or header = true if that is "
                "how the columns are called",
                line=1,
            )


def _names_of_header(path: Path, record: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in record)
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if not name:
            raise UnreadableFileError(
                path,
                f"has no name for column {place} of {len(names)} in its header",
                remedy="name it in the file, or declare header = false and the columns if the file has no header",
                line=1,
            )
        if name.casefold() in places:
            raise UnreadableFileError(
                path,
                f"has '{name}' twice in its header, in columns {places[name.casefold()]} and {place} "
                "(upper and lower case are the same)",
                remedy="give one of them another name; if the file has no header, declare header = false",
                line=1,
            )
        places[name.casefold()] = place
    return names


def _names_by_place(path: Path, record: tuple[str, ...], declared: StructType | None) -> tuple[str, ...]:
    if declared is None:
        return tuple(f"_c{place}" for place in range(len(record)))
    if len(record) != len(declared.fields):
        raise UnreadableFileError(
            path,
            f"has {len(record)} columns, but {len(declared.fields)} are declared, and without a header "
            "nothing says which they are",
            remedy="declare every column of the file, in its order",
            line=1,
        )
    return tuple(field.name for field in declared.fields)
