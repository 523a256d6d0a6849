"""CSV files: grouped by header, read by name, typed by their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from tidegate.config import ZoneSettings
from tidegate.errors import LandingError
from tidegate.transform.landing.csv_files import CsvShape, inspect, usual_delimiter
from tidegate.transform.landing.csv_types import fitting_types, resolve, typed
from tidegate.transform.landing.failures import MISFIT_MARK, MISFIT_SEPARATOR, local_path, malformed_csv
from tidegate.transform.landing.schemas import align, by_name, column
from tidegate.transform.landing.source import NO_MARKS, Source, literal

__all__ = ["CsvSource"]

_NULL = "\ufdd0null\ufdd0"
"""What the parser gives for an empty field without quotes, so that `""` stays an empty string: a noncharacter."""

_MALFORMED = "\ufdd0malformed\ufdd0"
_READERS = 8


@dataclass(frozen=True, slots=True)
class _Group:
    """Files that have the same columns in the same places."""

    names: tuple[str, ...]
    delimiter: str
    whole: bool
    paths: tuple[Path, ...]


class CsvSource(Source):
    def __init__(
        self,
        session: SparkSession,
        paths: Sequence[Path],
        settings: ZoneSettings,
        declared: StructType | None,
        before: StructType | None,
    ) -> None:
        self._session = session
        self._header = settings.header is not False
        self._groups = _group(paths, settings, self._header, declared)
        names = _all_names(self._groups)
        if declared is not None:
            self.schema = declared
            self.notes = _declared_notes(self._groups, declared) if self._header else ()
        else:
            self.schema = self._infer(names, before)
            self.notes = ()

    def load(self, target: StructType, marks: Mapping[str, Column] = NO_MARKS) -> list[DataFrame]:
        kinds = by_name(target)
        frames = []
        for group in self._groups:
            frame = self._read(group, ()).option("mode", "FAILFAST").csv([literal(path) for path in group.paths])
            chosen = []
            for name in group.names:
                if field := kinds.get(name.casefold()):
                    chosen.append(typed(column(name), field.dataType, _misfit(name, field.dataType)).alias(field.name))
            known = (value.alias(name) for name, value in marks.items())
            frames.append(align(frame.select(*chosen, *known), target, marks))
        return frames

    def _infer(self, names: tuple[str, ...], before: StructType | None) -> StructType:
        """One pass over everything, which also finds malformed records before anything is written."""
        if not self._groups:
            return StructType([])
        kinds = {key: field.dataType for key, field in by_name(before).items()} if before else {}
        text = StructType([StructField(name, StringType()) for name in (*names, _MALFORMED, "\ufdd0file")])
        frames = [self._texts(group, text) for group in self._groups]
        everything = frames[0]
        for frame in frames[1:]:
            everything = everything.union(frame)
        bad = F.when(column(_MALFORMED).isNotNull(), F.struct("\ufdd0file", F.substring(column(_MALFORMED), 1, 120)))
        found = everything.agg(
            F.min(bad).alias("malformed"),
            *(
                fitting_types(column(name), kinds.get(name.casefold())).alias(f"t{number}")
                for number, name in enumerate(names)
            ),
        ).first()
        assert found is not None
        if found["malformed"] is not None:
            path, record = local_path(found["malformed"][0]), found["malformed"][1]
            group = next((g for g in self._groups if path in g.paths), self._groups[0])
            raise malformed_csv(path, group.delimiter, len(group.names), record)
        return StructType(
            [
                StructField(name, resolve(found[f"t{number}"], kinds.get(name.casefold())))
                for number, name in enumerate(names)
            ]
        )

    def _texts(self, group: _Group, text: StructType) -> DataFrame:
        reader = self._read(group, (_MALFORMED,)).option("mode", "PERMISSIVE")
        frame = reader.option("columnNameOfCorruptRecord", _MALFORMED).csv([literal(path) for path in group.paths])
        return align(frame.select("*", F.col("_metadata.file_path").alias("\ufdd0file")), text)

    def _read(self, group: _Group, more: tuple[str, ...]) -> DataFrameReader:
        options = {
            "header": str(self._header).lower(),
            "sep": group.delimiter,
            "quote": '"',
            "escape": '"',
            "nullValue": _NULL,
            "encoding": "UTF-8",
            "multiLine": str(group.whole).lower(),
            # with pruning, a record with too many or too few fields goes unnoticed
            "columnPruning": "false",
            "unescapedQuoteHandling": "RAISE_ERROR",
            "maxColumns": str(max(20480, len(group.names) + 1)),
        }
        fields = [StructField(name, StringType()) for name in (*group.names, *more)]
        return self._session.read.schema(StructType(fields)).options(**options)


def _misfit(name: str, kind: DataType) -> Column:
    shown = kind.simpleString()
    parts = (
        F.lit(MISFIT_MARK),
        F.col("_metadata.file_path"),
        F.lit(name),
        F.lit(shown),
        F.substring(column(name), 1, 1000),
    )
    return F.concat_ws(MISFIT_SEPARATOR, *parts, F.lit(""))


def _group(
    paths: Sequence[Path], settings: ZoneSettings, header: bool, declared: StructType | None
) -> tuple[_Group, ...]:
    def look(path: Path) -> tuple[Path, str, CsvShape]:
        delimiter = _delimiter(path, settings)
        return path, delimiter, inspect(path, delimiter, settings.multiline)

    groups: dict[tuple[tuple[str, ...], str, bool], list[Path]] = {}
    with ThreadPoolExecutor(_READERS, thread_name_prefix="landing") as pool:
        for path, delimiter, shape in pool.map(look, paths):
            if shape.first is None:
                continue
            names = _names_of_header(path, shape.first) if header else _names_by_place(path, shape.first, declared)
            groups.setdefault((names, delimiter, shape.whole), []).append(path)
    return tuple(_Group(*key, tuple(found)) for key, found in groups.items())


def _delimiter(path: Path, settings: ZoneSettings) -> str:
    declared = settings.delimiter
    if declared is None:
        return "\t" if settings.format == "tsv" else usual_delimiter(path.name)
    if declared in ("\\t", "tab"):
        return "\t"
    if len(declared) != 1 or declared in '"\r\n':
        raise LandingError(
            f"{declared!r} cannot be the delimiter of a CSV file",
            where=f"[landing.{path.parent.name}] delimiter",
            remedy="write one character other than a quote or a line break",
        )
    return declared


def _names_of_header(path: Path, record: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in record)
    seen: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if not name:
            raise LandingError(
                f"'{path.name}': column {place} of {len(names)} has no name in the header",
                where=f"{path}:1",
                remedy="name it in the file, or declare header = false and the columns if the file has no header",
            )
        if name.casefold() in seen:
            raise LandingError(
                f"'{path.name}': the header has '{name}' twice, in columns {seen[name.casefold()]} and {place} "
                "(upper and lower case are the same)",
                where=f"{path}:1",
                remedy="give one of them another name; if the file has no header, declare header = false",
            )
        seen[name.casefold()] = place
    return names


def _names_by_place(path: Path, record: tuple[str, ...], declared: StructType | None) -> tuple[str, ...]:
    if declared is None:
        return tuple(f"_c{place}" for place in range(len(record)))
    if len(record) != len(declared.fields):
        raise LandingError(
            f"'{path.name}' has {len(record)} columns, but {len(declared.fields)} are declared, and without a header "
            "nothing says which they are",
            where=f"{path}:1",
            remedy="declare every column of the file, in its order",
        )
    return tuple(field.name for field in declared.fields)


def _all_names(groups: Iterable[_Group]) -> tuple[str, ...]:
    names: dict[str, str] = {}
    for group in groups:
        for name in group.names:
            names.setdefault(name.casefold(), name)
    return tuple(names.values())


def _declared_notes(groups: Sequence[_Group], declared: StructType) -> tuple[str, ...]:
    wanted = by_name(declared)
    notes = []
    for group in groups:
        first, more = group.paths[0].name, len(group.paths) - 1
        which = first if not more else f"{first} and {more} more"
        there = {name.casefold() for name in group.names}
        if extra := [name for name in group.names if name.casefold() not in wanted]:
            notes.append(f"{which}: columns that are not declared are not read: {', '.join(extra)}")
        if missing := [field.name for key, field in wanted.items() if key not in there]:
            notes.append(f"{which}: declared columns that are not there are NULL: {', '.join(missing)}")
    return tuple(notes)
