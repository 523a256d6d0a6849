"""Statements sent to a database through Spark's JDBC reader, whose failures name the source and the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.config import DatabaseSource, JdbcSource, Settings
from tidegate.config.file_formats import FILE_FORMATS, FileFormat
from tidegate.errors import FailureKind, RunCancelledError, SourceError
from tidegate.ingest.port import SourceRequest
from tidegate.ingest.sql.sql_dialects import SqlColumn, kind_of
from tidegate.names import nearest
from tidegate.problems import did_you_mean
from tidegate.sources.jdbc_source import jdbc_options
from tidegate.sources.source_errors import as_source_error
from tidegate.spark.session import temporary_conf
from tidegate.spark.spark_errors import read_failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["JdbcReader", "WrittenTask", "value_text", "write_rows"]

_FETCH_SIZE = 10_000
_WIDEST = 38
_TASK = "__tidegate_task"
_TIMES_OF_DAY = ("time", "timetz")
_TYPES_OF_JSON = ("boolean", "tinyint", "smallint", "int", "bigint", "decimal", "float", "double")
_REFUSED = re.compile(
    r".*SPARK_GEN_SUBQ_\d+ WHERE 1=0\. (.*?)(?:; SQL statement:.*)?(?: The error occurred during .*)?", re.DOTALL
)
"""The answer of the database in Spark's message, which repeats the statement."""
_REMEDIES = {
    FailureKind.AUTH_FAILED: "correct 'user' and 'password' of the source, or grant SELECT on the table to that user",
    FailureKind.CONNECTION_FAILED: "check the address in 'url', that the server runs, and that this machine may reach "
    "it",
    FailureKind.NOT_FOUND: "correct the physicalName of the source object in the contract, or the database in 'url'",
    FailureKind.TIMEOUT: "try again later, or raise 'timeout' of the source",
}


def _database_source(settings: Settings, name: str, kind: str) -> DatabaseSource | JdbcSource:
    """`kind`: of the source to add where there is none."""
    source = settings.sources.get(name)
    if isinstance(source, DatabaseSource | JdbcSource):
        return source
    message = "is not in tidegate.toml" if source is None else f"has kind '{source.kind}', which is no SQL database"
    hint = did_you_mean(nearest(name, settings.sources, 1)) if source is None else None
    raise SourceError(
        f"source '{name}': [sources.{name}] {message}",
        source=name,
        kind=FailureKind.NOT_FOUND,
        where=f"[sources.{name}]",
        remedy=f'{f"{hint} " if hint else ""}add [sources.{name}] with kind = "{kind}" and its url, user and password, '
        "or correct 'source' in the contract",
    )


class _UnwritableRowsError(Exception):
    """Rows that a landing format cannot hold."""


class JdbcReader:
    def __init__(self, request: SourceRequest) -> None:
        """Raises SourceError where the project has no such database, or this process no Spark."""
        rules = request.ingestion.source
        self.table = rules.physical_name or rules.name
        self.source = _database_source(request.settings, rules.source, rules.connector.source_kind)
        if request.session is None:
            message = f"table {self.table} is read by Spark, which is not available here"
            raise self.error(message, FailureKind.QUERY_REJECTED, "run it where Spark can be started")
        self._session = request.session
        self._connection: dict[str, str] | None = None

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """For statements whose answer is small."""
        with self.explained():
            return [tuple(row) for row in self._query(statement).collect()]

    def columns(self, statement: str) -> dict[str, SqlColumn]:
        """The columns of a statement by their names in lower case."""
        with self.explained():
            fields = self._query(statement, self.source.timeout).schema.fields
        return {
            field.name.lower(): SqlColumn(
                field.name, kind_of(field.dataType.simpleString(), str(field.metadata.get("jdbcClientType", "")))
            )
            for field in fields
        }

    def frame(self, table: str, predicates: Sequence[str | None]) -> DataFrame:
        """The rows of a table, or of a query in brackets, each predicate in a task of its own."""
        options = self._options() | {"fetchsize": str(_FETCH_SIZE)}
        url = options.pop("url")
        with self.explained():
            conditions = [predicate or "1 = 1" for predicate in predicates]
            frame = self._session().read.jdbc(url, table, predicates=conditions, properties=options)
            return self._exact(frame, table, conditions, url, options)

    def _exact(
        self, frame: DataFrame, table: str, conditions: list[str], url: str, options: dict[str, str]
    ) -> DataFrame:
        """PostgreSQL's numeric may have more digits than Spark's decimal, and its times of day have more than Spark
        takes of them: read such columns as text."""
        wide = [
            field.name
            for field in frame.schema.fields
            if _is_widest_decimal(field.dataType) or str(field.metadata.get("jdbcClientType")) in _TIMES_OF_DAY
        ]
        if not wide or not options["driver"].startswith("org.postgresql."):
            return frame
        custom = ", ".join(f"{_spark_name(name)} STRING" for name in wide)
        return self._session().read.jdbc(
            url, table, predicates=conditions, properties=options | {"customSchema": custom}
        )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """A failure inside becomes a SourceError that names the source and the table."""
        try:
            yield
        except (SourceError, RunCancelledError):
            raise
        except _UnwritableRowsError as error:
            remedy = "set landing_file_format in the contract to parquet or json"
            raise self.error(f"table {self.table}: {error}", FailureKind.QUERY_REJECTED, remedy) from None
        except Exception as error:
            raise self.failure(error) from None

    def failure(self, error: Exception) -> SourceError:
        failure = read_failure(error)
        if "long overflow" in failure.message:
            return self.error(
                f"table {self.table} has infinity as a timestamp without time zone, which Spark cannot read",
                FailureKind.QUERY_REJECTED,
                "name a view as physicalName that gives another value for it, such as NULLIF(column, 'infinity')",
            )
        refused = _REFUSED.fullmatch(failure.message)
        cause = SourceError(
            f"table {self.table} cannot be read: {refused[1] if refused else failure.message}",
            source=self.source.name,
            kind=failure.kind,
            where=f"[sources.{self.source.name}]",
            remedy=failure.remedy or _REMEDIES.get(failure.kind),
        )
        return as_source_error(cause, self.source)

    def missing_column(self, name: str, setting: str, columns: Sequence[str]) -> SourceError:
        hint = did_you_mean(nearest(name, columns, 1))
        return SourceError(
            f"source '{self.source.name}': table {self.table} has no column '{name}', which '{setting}' names",
            source=self.source.name,
            kind=FailureKind.NOT_FOUND,
            where=f"[sources.{self.source.name}]",
            remedy=f"{f'{hint} ' if hint else ''}correct '{setting}' in the contract; the table has "
            f"{', '.join(columns)}",
        )

    def error(self, message: str, kind: FailureKind, remedy: str) -> SourceError:
        return SourceError(
            f"source '{self.source.name}': {message}",
            source=self.source.name,
            kind=kind,
            where=f"[sources.{self.source.name}]",
            remedy=remedy,
        )

    def _query(self, statement: str, timeout: timedelta | None = None) -> DataFrame:
        options = self._options() | {"query": statement}
        if timeout is not None:
            options["queryTimeout"] = str(max(1, round(timeout.total_seconds())))
        return self._session().read.format("jdbc").options(**options).load()

    def _options(self) -> dict[str, str]:
        if self._connection is None:
            # A timestamp without zone is read as it stands: with one, its value would depend on the zone of the JVM.
            self._connection = jdbc_options(self.source) | {"preferTimestampNTZ": "true"}
        return dict(self._connection)


def _is_widest_decimal(kind: Any) -> bool:
    return bool(kind.typeName() == "decimal" and kind.precision == _WIDEST)


def _spark_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def value_text(value: Any) -> str | None:
    """A value that a small statement gave, with all its digits."""
    match value:
        case None:
            return None
        case bool():
            return "1" if value else "0"
        case bytes() | bytearray():
            return value.hex().upper()
        case Decimal():
            return format(value, "f")
        case float():
            return repr(value)
        case _:
            return str(value)


def _as_delivered(frame: DataFrame, reader: str) -> DataFrame:
    """Values as bronze has those of Parquet, with all their digits; JSON keeps the types that it has."""
    from pyspark.sql import functions as F

    from tidegate.transform.landing.value_texts import delivered_text

    kept = ("string", *(_TYPES_OF_JSON if reader == "json" else ()))
    columns = ((F.col(_spark_name(field.name)), field.dataType, field.name) for field in frame.schema.fields)
    return frame.select(
        *(
            value if kind.simpleString().startswith(kept) else delivered_text(value, kind).alias(name)
            for value, kind, name in columns
        )
    )


def _written_blank(frame: DataFrame, form: FileFormat) -> list[str]:
    """The column whose NULL would be a blank line."""
    return frame.columns if form.reader == "csv" and len(frame.columns) == 1 else []


@dataclass(frozen=True, slots=True)
class WrittenTask:
    """What one task of a frame wrote."""

    files: tuple[str, ...]
    rows: int


def write_rows(frame: DataFrame, folder: Path, file_format: str, tasks: int = 1) -> list[WrittenTask]:
    """What was added to the folder, task by task. With `tasks` 1 the frame may have several, which count as one.

    Rows that the format cannot hold raise within `JdbcReader.explained`.
    """
    with temporary_conf(frame.sparkSession, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
        return _write(frame, folder, file_format, tasks)


def _write(frame: DataFrame, folder: Path, file_format: str, tasks: int) -> list[WrittenTask]:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    before = {path.name for path in folder.iterdir()}
    observation, form = Observation(), FILE_FORMATS[file_format]
    frame = frame if form.reader == "parquet" else _as_delivered(frame, form.reader)
    counted = [F.count_if(F.col(_spark_name(name)).isNull()).alias("blank") for name in _written_blank(frame, form)]
    if tasks == 1:
        rows = frame.observe(observation, F.count(F.lit(1)).alias("rows0"), *counted)
    else:
        counted += [F.count_if(F.col(_TASK) == number).alias(f"rows{number}") for number in range(tasks)]
        rows = frame.withColumn(_TASK, F.spark_partition_id()).observe(observation, *counted).drop(_TASK)
    writer = rows.write.mode("append")
    match form.reader:
        case "parquet":
            writer.parquet(str(folder))
        case "csv":
            blanks = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
            writer.csv(str(folder), header=True, sep=form.delimiter, escape='"', compression="none", **blanks)
        case _:
            writer.json(str(folder), ignoreNullFields=False, compression="none")
    if observation.get.get("blank"):
        raise _UnwritableRowsError(
            f"a {file_format} file has a blank line for each NULL of its only column '{frame.columns[0]}', "
            "and a blank line is no row"
        )
    added = sorted(path for path in folder.iterdir() if path.name not in before and path.name.startswith("part-"))
    # Spark's endings distinguish neither tsv from csv nor jsonl from json.
    names = [path.rename(path.with_suffix(f".{file_format}")).name for path in added]
    return [
        WrittenTask(
            tuple(name for name in names if tasks == 1 or int(name.split("-")[1]) == number),
            int(observation.get[f"rows{number}"]),
        )
        for number in range(tasks)
    ]
