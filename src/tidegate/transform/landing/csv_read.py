"""CSV files: grouped by header, read by name, typed by their values.

Bad records of a zone raise, all of them together; with `bad_records = "quarantine"` the files that hold some are read
record by record instead, so that the bad ones can be left out.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from pathlib import Path

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from tidegate.transform.landing.bad_records import (
    SHOWN,
    BadRecord,
    BadRecordsError,
    bad_records_error,
    bad_records_of_files,
)
from tidegate.transform.landing.csv_dialect import Dialect
from tidegate.transform.landing.csv_files import find_values, malformed_records
from tidegate.transform.landing.csv_groups import (
    CsvGroup,
    all_names,
    declared_notes,
    group_files,
    missing_notes,
    set_apart,
)
from tidegate.transform.landing.csv_types import fitting_types, misfits, resolve, typed
from tidegate.transform.landing.landing_errors import (
    MALFORMED_REMEDY,
    MISFIT_MARK,
    MISFIT_SEPARATOR,
    has_broken_quotes,
    local_path,
    misfit,
    shortened,
)
from tidegate.transform.landing.record_numbers import number_records
from tidegate.transform.landing.record_source import FILE, LINE, NUMBER, TEXT, WHY, RecordFile
from tidegate.transform.landing.schemas import align, by_name, column, ddl
from tidegate.transform.landing.zone_source import (
    FormatFiles,
    ZoneSource,
    bad_record_columns,
    file_order,
    path_literal,
    record_frame,
    record_order,
)

__all__ = ["CsvSource"]

_NULL = "\ufdd0null\ufdd0"
"""What the parser gives for an empty field without quotes, so that `""` stays an empty string: a noncharacter."""

_MALFORMED = "\ufdd0malformed\ufdd0"
_FILE, _WRONG = "\ufdd0file", "\ufdd0wrong"
_CHECKED_BEFORE_SPARK = 64 << 20
"""So many bytes of a delivery are searched for malformed records here; Spark, which is quicker, finds the others."""
_SPARKS_OWN = ("utf-8", "utf-16", "iso-8859-1")


class CsvSource(ZoneSource):
    def __init__(self, session: SparkSession, files: FormatFiles) -> None:
        self._session = session
        settings, before = files.settings, files.before
        self._raw = settings.raw
        self._header = settings.header is not False
        self._groups, unclosed = group_files(files.paths, settings, files.declared)
        declared = None if self._raw else files.declared
        self._kinds = {key: field.dataType for key, field in by_name(declared).items()} if declared else {}
        names = all_names(self._groups)
        if declared is not None and self._header:
            self.notes = declared_notes(self._groups, declared)
        elif before is not None and self._header:
            self.notes = missing_notes(self._groups, before.fieldNames())
        while True:
            try:
                _refuse_malformed(self._groups, unclosed)
                if declared is not None:
                    self._check_declared(names)
                    self.schema = declared
                else:
                    self.schema = self._infer(names, before)
                return
            except BadRecordsError as error:
                if not settings.quarantines or not self._set_apart(error.paths):
                    raise

    def _set_apart(self, paths: Collection[Path]) -> bool:
        """Whether some of them were not apart before."""
        divided = set_apart(self._groups, paths)
        self._groups, before = divided, self._groups
        return divided != before

    def load(self, target: StructType, ordered: bool = False) -> list[DataFrame]:
        kinds = by_name(target)
        frames = []
        for group in self._groups:
            if group.apart:
                frame, order = self._records(group).where(_is_good()), record_order(ordered)
            else:
                reader = self._session.read.schema(_texts(group.names)).options(**self._options(group))
                frame = reader.option("mode", "FAILFAST").csv([path_literal(path) for path in group.paths])
                order = file_order(ordered)
            chosen = []
            for name in group.names:
                if field := kinds.get(name.casefold()):
                    wrong = None if group.apart else _misfit(name, field.dataType, group.dialect)
                    chosen.append(typed(column(name), field.dataType, wrong).alias(field.name))
            places = (value.alias(name) for name, value in order.items())
            rows = align(frame.select(*chosen, *places), target, order)
            numbered = not self._raw or group.apart
            frames.append(rows if numbered else number_records(rows, group.paths, in_pieces=not group.whole))
        return frames

    def bad_records(self, target: StructType) -> list[DataFrame]:
        bad = [self._records(group).where(~_is_good()) for group in self._groups if group.apart]
        malformed = F.when(column(WHY).isNotNull() | column(_MALFORMED).isNotNull(), F.array(_why_malformed()))
        names = F.transform(column(_WRONG), lambda wrong: wrong["name"])
        reasons = F.transform(column(_WRONG), lambda wrong: wrong["why"])
        return [frame.select(*bad_record_columns(F.coalesce(malformed, reasons), names)) for frame in bad]

    def _infer(self, names: tuple[str, ...], before: StructType | None) -> StructType:
        """One pass over everything, which also finds malformed records before anything is written."""
        if not self._groups:
            return StructType([])
        if self._raw:
            # Spark does not give the column of malformed records alone.
            self._aggregate(self._every_text(names), [F.count(column(name)) for name in names])
            return _texts(names)
        kinds = {key: field.dataType for key, field in by_name(before).items()} if before else {}
        classes = [fitting_types(column(name), kinds.get(name.casefold())) for name in names]
        row = self._aggregate(
            self._every_text(names), [each.alias(f"t{number}") for number, each in enumerate(classes)]
        )
        schema = StructType(
            [
                StructField(name, resolve(row[f"t{number}"], kinds.get(name.casefold())))
                for number, name in enumerate(names)
            ]
        )
        self.notes += tuple(self._became_text(schema, kinds))
        return schema

    def _became_text(self, schema: StructType, kinds: Mapping[str, DataType]) -> Iterator[str]:
        """One wrong value makes a column text permanently, so the note names the value."""
        changed = {
            field.name: kind
            for field in schema.fields
            if (kind := kinds.get(field.name.casefold())) is not None
            and isinstance(field.dataType, StringType)
            and not isinstance(kind, StringType)
        }
        if not changed:
            return
        places = {name: F.struct(column(_FILE).alias("file"), column(name).alias("value")) for name in changed}
        firsts = [F.min(F.when(misfits(column(n), kind), places[n])).alias(n) for n, kind in changed.items()]
        row = self._every_text(tuple(changed)).agg(*firsts).first()
        assert row is not None
        for name, kind in changed.items():
            first = row[name]
            because = f", because of '{shortened(first['value'])}' in {local_path(first['file']).name}" if first else ""
            yield (
                f"column '{name}' was {kind.simpleString()} in earlier files and is text now{because}; to refuse such "
                "values, declare the columns of the landing zone with their types, and build the table again with "
                "--full-refresh"
            )

    def _check_declared(self, names: tuple[str, ...]) -> None:
        """One pass over all records before anything is written; otherwise each run would report only one wrong
        value."""
        if not self._groups or not any(name.casefold() in self._kinds for name in names):
            return
        texts = self._every_text(names).select(column(_MALFORMED), column(_FILE), self._wrong(names).alias(_WRONG))
        wrong = F.size(column(_WRONG)) > 0
        files = F.collect_set(F.when(wrong, column(_FILE))).alias("files")
        totals = self._aggregate(texts, [F.count_if(wrong).alias("wrong"), files])
        if totals["wrong"]:
            values = texts.select(column(_FILE), F.explode(column(_WRONG)).alias("at")).distinct()
            examples = values.orderBy(column(_FILE), "at").limit(SHOWN).collect()
            raise self._misfit_error(
                [(row[0], row["at"]["name"], row["at"]["value"]) for row in examples], totals["files"], totals["wrong"]
            )

    def _wrong(self, names: Sequence[str]) -> Column:
        """Of a row of texts: the values that do not fit the declared types, with name and reason."""
        wrong = [
            F.when(
                misfits(column(name), kind),
                F.struct(
                    F.lit(name).alias("name"),
                    column(name).alias("value"),
                    F.lit(f"has a value in column '{name}' that does not fit {kind.simpleString()}").alias("why"),
                ),
            )
            for name in names
            if (kind := self._kinds.get(name.casefold())) is not None
        ]
        none = F.array().cast(ArrayType(StructType.fromDDL("name string, value string, why string")))
        return F.array_compact(F.array(*wrong)) if wrong else none

    def _misfit_error(
        self, values: Sequence[tuple[str, str, str]], files: Sequence[str], total: int
    ) -> BadRecordsError:
        reasons: dict[tuple[Path, int], list[str]] = {}
        for uri, name, value in values:
            path = local_path(uri)
            group = self._group_of(path)
            place = [each.casefold() for each in group.names].index(name.casefold())
            lines = find_values(path, group.dialect, name, value, place)
            for line in islice(lines, SHOWN):
                reasons.setdefault((path, line), []).append(self._why_misfit(name, value))
        records = [BadRecord(*place, " and ".join(why)) for place, why in sorted(reasons.items())]
        if not records:
            uri, name, value = values[0]
            records = [BadRecord(local_path(uri), None, self._why_misfit(name, value))]
        remedy = "correct the values, or declare the columns with wider types in the zone's section"
        return bad_records_error(records[:SHOWN], max(total, len(records)), remedy, map(local_path, files))

    def _why_misfit(self, name: str, value: str) -> str:
        return misfit(name, self._kinds[name.casefold()].simpleString(), value)

    def _aggregate(self, texts: DataFrame, sums: Sequence[Column]) -> Row:
        """One pass over all records; raises if some are malformed."""
        malformed = column(_MALFORMED).isNotNull()
        files = F.array_sort(F.collect_set(F.when(malformed, column(_FILE)))).alias("malformed")
        try:
            totals = texts.agg(F.count_if(malformed).alias("total"), files, *sums).first()
        except Exception as error:
            if not has_broken_quotes(error):
                raise
            raise _malformed_error([group for group in self._groups if not group.apart]) or error from error
        assert totals is not None
        if totals["total"]:
            self._refuse(totals["malformed"], totals["total"])
        return totals

    def _refuse(self, files: Sequence[str], total: int) -> None:
        """The error for malformed records that Spark found; their lines are looked up in the files."""
        paths = [local_path(uri) for uri in files]
        first = list(islice((bad for path in paths for bad in _malformed(self._group_of(path), path)), SHOWN))
        unknown = [BadRecord(path, None, "has a malformed record") for path in paths[:SHOWN]]
        raise bad_records_error(first or unknown, total, MALFORMED_REMEDY, paths)

    def _group_of(self, path: Path) -> CsvGroup:
        return next((group for group in self._groups if path in group.paths), self._groups[0])

    def _every_text(self, names: tuple[str, ...]) -> DataFrame:
        """The values of all records as they are written, but for those that were found to be bad."""
        every = _texts((*names, _MALFORMED, _FILE))
        frames = []
        for group in self._groups:
            if group.apart:
                frame = self._records(group).where(_is_good()).withColumn(_FILE, column(FILE))
            else:
                reader = self._session.read.schema(_texts((*group.names, _MALFORMED)))
                reader = reader.options(**self._options(group), columnNameOfCorruptRecord=_MALFORMED)
                frame = reader.option("mode", "PERMISSIVE").csv([path_literal(path) for path in group.paths])
                frame = frame.select("*", F.col("_metadata.file_path").alias(_FILE))
            frames.append(align(frame, every))
        return reduce(DataFrame.union, frames)

    def _records(self, group: CsvGroup) -> DataFrame:
        """All records of the group's files: their texts by name, where they stand, and what is wrong with them."""
        files = [
            RecordFile(os.path.abspath(path), group.dialect, len(group.names), self._header) for path in group.paths
        ]
        options = {**self._options(group), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _MALFORMED}
        # Spark's parser raises for broken quotes, so it is not given any.
        text = F.when(column(WHY).isNull(), column(TEXT))
        schema = _texts((*group.names, _MALFORMED))
        parsed = F.from_csv(text, ddl(schema), {**options, "multiLine": "true", "header": "false"})
        frame = record_frame(self._session, files).withColumn("\ufdd0record", parsed)
        frame = frame.select(*map(column, (FILE, NUMBER, LINE, TEXT, WHY)), F.col("\ufdd0record.*"))
        return frame.withColumn(_WRONG, self._wrong(group.names))

    def _options(self, group: CsvGroup) -> dict[str, str]:
        if group.dialect.encoding not in _SPARKS_OWN:
            # Spark takes no other name than those of seven encodings otherwise
            self._session.conf.set("spark.sql.legacy.javaCharsets", "true")
        return {
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


def _is_good() -> Column:
    return column(WHY).isNull() & column(_MALFORMED).isNull() & (F.size(column(_WRONG)) == 0)


def _why_malformed() -> Column:
    return F.coalesce(column(WHY), F.lit("is malformed"))


def _texts(names: Sequence[str]) -> StructType:
    return StructType([StructField(name, StringType()) for name in names])


def _misfit(name: str, kind: DataType, dialect: Dialect) -> Column:
    type_name = kind.simpleString()
    parts = (
        F.lit(MISFIT_MARK),
        F.col("_metadata.file_path"),
        F.lit(name),
        F.lit(type_name),
        F.lit(dialect.delimiter),
        F.lit(dialect.encoding),
        F.lit(dialect.escape),
        F.substring(column(name), 1, 1000),
    )
    return F.concat_ws(MISFIT_SEPARATOR, *parts, F.lit(""))


def _malformed(group: CsvGroup, path: Path) -> Iterator[BadRecord]:
    return malformed_records(path, group.dialect, len(group.names))


def _malformed_error(groups: Sequence[CsvGroup], only: Collection[Path] | None = None) -> BadRecordsError | None:
    """Of the malformed records of all files, or of those given."""
    every = [(path, group) for group in groups for path in group.paths if only is None or path in only]
    files = ((path, _malformed(group, path)) for path, group in sorted(every, key=lambda each: each[0]))
    first, total, paths = bad_records_of_files(files)
    return bad_records_error(first, total, MALFORMED_REMEDY, paths) if total else None


def _refuse_malformed(groups: Sequence[CsvGroup], unclosed: frozenset[Path]) -> None:
    """What can be seen without Spark. A quote that is never closed Spark would take for a value to the end of the file,
    so files that may have one are searched whatever their size."""
    left = _CHECKED_BEFORE_SPARK
    chosen = set()
    for path in sorted(path for group in groups if not group.apart for path in group.paths):
        left -= path.stat().st_size
        if left >= 0 or path in unclosed:
            chosen.add(path)
    if error := _malformed_error([group for group in groups if not group.apart], chosen):
        raise error
