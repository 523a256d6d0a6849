"""CSV files: grouped by header, read by name, typed by their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from pathlib import Path

from pyspark.sql import Column, DataFrame, DataFrameReader, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from tidegate.config import ZoneSettings
from tidegate.errors import LandingError
from tidegate.transform.landing.bad_records import SHOWN, BadRecord, bad_records_error, first_bad_records
from tidegate.transform.landing.csv_dialect import Dialect, find_dialect, refuse_suspicious_column
from tidegate.transform.landing.csv_files import CsvShape, find_values, inspect, malformed_records
from tidegate.transform.landing.csv_types import fitting_types, misfits, resolve, typed
from tidegate.transform.landing.failures import (
    MALFORMED_REMEDY,
    MISFIT_MARK,
    MISFIT_SEPARATOR,
    has_broken_quotes,
    local_path,
    misfit,
)
from tidegate.transform.landing.schemas import align, by_name, column
from tidegate.transform.landing.source import NO_MARKS, Source, literal

__all__ = ["CsvSource"]

_NULL = "\ufdd0null\ufdd0"
"""What the parser gives for an empty field without quotes, so that `""` stays an empty string: a noncharacter."""

_MALFORMED = "\ufdd0malformed\ufdd0"
_FILE, _WRONG = "\ufdd0file", "\ufdd0wrong"
_READERS = 8
_CHECKED_BEFORE_SPARK = 64 << 20
"""So many bytes of a delivery are searched for malformed records here; Spark, which is quicker, finds the others."""
_SPARKS_OWN = ("utf-8", "utf-16", "iso-8859-1")


@dataclass(frozen=True, slots=True)
class _Group:
    """Files that have the same columns in the same places."""

    names: tuple[str, ...]
    dialect: Dialect
    whole: bool
    paths: tuple[Path, ...]

    def malformed(self, path: Path) -> Iterator[BadRecord]:
        return malformed_records(path, self.dialect, len(self.names))


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
        self._groups, unclosed = _group(paths, settings, self._header, declared)
        _refuse_malformed(self._groups, unclosed)
        names = _all_names(self._groups)
        if declared is not None:
            self.schema = declared
            self._check_declared(names, declared)
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
                    chosen.append(
                        typed(column(name), field.dataType, _misfit(name, field.dataType, group.dialect)).alias(
                            field.name
                        )
                    )
            known = (value.alias(name) for name, value in marks.items())
            frames.append(align(frame.select(*chosen, *known), target, marks))
        return frames

    def _infer(self, names: tuple[str, ...], before: StructType | None) -> StructType:
        """One pass over everything, which also finds malformed records before anything is written."""
        if not self._groups:
            return StructType([])
        kinds = {key: field.dataType for key, field in by_name(before).items()} if before else {}
        classes = [fitting_types(column(name), kinds.get(name.casefold())) for name in names]
        found = self._found(self._every_text(names), [each.alias(f"t{number}") for number, each in enumerate(classes)])
        return StructType(
            [
                StructField(name, resolve(found[f"t{number}"], kinds.get(name.casefold())))
                for number, name in enumerate(names)
            ]
        )

    def _check_declared(self, names: tuple[str, ...], declared: StructType) -> None:
        """One pass over everything before anything is written: else a run would report one wrong value at a time."""
        kinds = {key: field.dataType for key, field in by_name(declared).items()}
        wrong = [
            F.when(misfits(column(name), kind), F.struct(F.lit(name).alias("name"), column(name).alias("value")))
            for name in names
            if (kind := kinds.get(name.casefold())) is not None
        ]
        if not self._groups or not wrong:
            return
        texts = self._every_text(names).select(
            column(_MALFORMED), column(_FILE), F.array_compact(F.array(*wrong)).alias(_WRONG)
        )
        found = self._found(texts, [F.count_if(F.size(column(_WRONG)) > 0).alias("wrong")])
        if found["wrong"]:
            values = texts.select(column(_FILE), F.explode(column(_WRONG)).alias("at")).distinct()
            shown = values.orderBy(column(_FILE), "at").limit(SHOWN).collect()
            raise self._misfit_error(
                [(row[0], row["at"]["name"], row["at"]["value"]) for row in shown], kinds, found["wrong"]
            )

    def _misfit_error(
        self, values: Sequence[tuple[str, str, str]], kinds: Mapping[str, DataType], total: int
    ) -> LandingError:
        reasons: dict[tuple[Path, int], list[str]] = {}
        for uri, name, value in values:
            path = local_path(uri)
            group = self._group_of(path)
            place = [each.casefold() for each in group.names].index(name.casefold())
            lines = find_values(path, group.dialect, name, value, place)
            for line in islice(lines, SHOWN):
                reasons.setdefault((path, line), []).append(misfit(name, kinds[name.casefold()].simpleString(), value))
        records = [BadRecord(*place, " and ".join(why)) for place, why in sorted(reasons.items())]
        if not records:
            uri, name, value = values[0]
            records = [BadRecord(local_path(uri), None, misfit(name, kinds[name.casefold()].simpleString(), value))]
        remedy = "correct the values, or declare the columns with wider types in the zone's section"
        return bad_records_error(records[:SHOWN], max(total, len(records)), remedy)

    def _found(self, texts: DataFrame, sums: Sequence[Column]) -> Row:
        """One pass over all records; raises if some are malformed."""
        malformed = column(_MALFORMED).isNotNull()
        files = F.array_sort(F.collect_set(F.when(malformed, column(_FILE)))).alias("malformed")
        try:
            found = texts.agg(F.count_if(malformed).alias("total"), files, *sums).first()
        except Exception as error:
            if not has_broken_quotes(error):
                raise
            every = sorted(path for group in self._groups for path in group.paths)
            first, total = first_bad_records(bad for path in every for bad in self._group_of(path).malformed(path))
            if not total:
                raise
            raise bad_records_error(first, total, MALFORMED_REMEDY) from error
        assert found is not None
        if found["total"]:
            self._refuse(found["malformed"], found["total"])
        return found

    def _refuse(self, files: Sequence[str], total: int) -> None:
        """Malformed records that Spark met: which they are is looked up in the files that have some."""
        paths = [local_path(uri) for uri in files]
        first = list(islice((bad for path in paths for bad in self._group_of(path).malformed(path)), SHOWN))
        unknown = [BadRecord(path, None, "has a malformed record") for path in paths[:SHOWN]]
        raise bad_records_error(first or unknown, total, MALFORMED_REMEDY)

    def _group_of(self, path: Path) -> _Group:
        return next((group for group in self._groups if path in group.paths), self._groups[0])

    def _every_text(self, names: tuple[str, ...]) -> DataFrame:
        text = StructType([StructField(name, StringType()) for name in (*names, _MALFORMED, _FILE)])
        return reduce(DataFrame.union, [self._texts(group, text) for group in self._groups])

    def _texts(self, group: _Group, text: StructType) -> DataFrame:
        reader = self._read(group, (_MALFORMED,)).option("mode", "PERMISSIVE")
        frame = reader.option("columnNameOfCorruptRecord", _MALFORMED).csv([literal(path) for path in group.paths])
        return align(frame.select("*", F.col("_metadata.file_path").alias(_FILE)), text)

    def _read(self, group: _Group, more: tuple[str, ...]) -> DataFrameReader:
        options = {
            "header": str(self._header).lower(),
            "sep": group.dialect.delimiter,
            "quote": '"',
            "escape": group.dialect.escape,
            "nullValue": _NULL,
            "encoding": group.dialect.encoding.upper(),
            "multiLine": str(group.whole).lower(),
            # with pruning, a record with too many or too few fields goes unnoticed
            "columnPruning": "false",
            "unescapedQuoteHandling": "RAISE_ERROR",
            "maxColumns": str(max(20480, len(group.names) + 1)),
        }
        if group.dialect.encoding not in _SPARKS_OWN:
            # Spark takes no other name than those of seven encodings otherwise
            self._session.conf.set("spark.sql.legacy.javaCharsets", "true")
        fields = [StructField(name, StringType()) for name in (*group.names, *more)]
        return self._session.read.schema(StructType(fields)).options(**options)


def _misfit(name: str, kind: DataType, dialect: Dialect) -> Column:
    shown = kind.simpleString()
    parts = (
        F.lit(MISFIT_MARK),
        F.col("_metadata.file_path"),
        F.lit(name),
        F.lit(shown),
        F.lit(dialect.delimiter),
        F.lit(dialect.encoding),
        F.lit(dialect.escape),
        F.substring(column(name), 1, 1000),
    )
    return F.concat_ws(MISFIT_SEPARATOR, *parts, F.lit(""))


def _group(
    paths: Sequence[Path], settings: ZoneSettings, header: bool, declared: StructType | None
) -> tuple[tuple[_Group, ...], frozenset[Path]]:
    """The groups, and the files in which a quote may never be closed."""

    def look(path: Path) -> tuple[Path, CsvShape]:
        dialect = find_dialect(path, settings)
        return path, inspect(path, dialect, settings.multiline, escape_declared=settings.escape is not None)

    groups: dict[tuple[tuple[str, ...], Dialect, bool], list[Path]] = {}
    unclosed: set[Path] = set()
    with ThreadPoolExecutor(_READERS, thread_name_prefix="landing") as pool:
        for path, shape in pool.map(look, paths):
            if shape.first is None:
                continue
            refuse_suspicious_column(path, shape.first, settings)
            if shape.open_quotes:
                unclosed.add(path)
            names = _names_of_header(path, shape.first) if header else _names_by_place(path, shape.first, declared)
            groups.setdefault((names, shape.dialect, shape.whole), []).append(path)
    return tuple(_Group(*key, tuple(found)) for key, found in groups.items()), frozenset(unclosed)


def _refuse_malformed(groups: Sequence[_Group], unclosed: frozenset[Path]) -> None:
    """What can be seen without Spark. A quote that is never closed Spark would take for a value to the end of the file,
    so files that may have one are searched whatever their size; of other quotes Spark is the judge."""
    left = _CHECKED_BEFORE_SPARK
    chosen = []
    every = [(path, group) for group in groups for path in group.paths]
    for path, group in sorted(every, key=lambda each: each[0]):
        left -= path.stat().st_size
        if left >= 0 or path in unclosed:
            chosen.append((path, group))
    certain: list[BadRecord] = []

    def bad_records() -> Iterator[BadRecord]:
        for path, group in chosen:
            for bad in group.malformed(path):
                if len(certain) < SHOWN and (path in unclosed or not bad.quotes):
                    certain.append(bad)
                yield bad

    first, total = first_bad_records(bad_records())
    if certain:
        raise bad_records_error(first if certain[0] in first else certain, total, MALFORMED_REMEDY)


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
