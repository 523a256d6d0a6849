"""The columns of a result and of a table, found by name whatever their case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.datatypes import DataType, from_json
from tidegate.errors import StrategyError
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName, nearest
from tidegate.widening import stored_type
from tidegate.write.spark_sql import comparable, differ, quote, unquote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["TableColumn", "TableColumns", "columns_in", "columns_of", "result_columns"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """`type` is as a table keeps it."""

    name: str
    type: DataType

    @property
    def quoted(self) -> str:
        return quote(self.name)

    @property
    def type_sql(self) -> str:
        return self.type.sql

    @property
    def type_text(self) -> str:
        """For messages, spelled as by `tidegate compile`; `type_sql` is for statements."""
        return self.type.text if self.type.known else self.type_sql

    def comparable(self, relation: str | None = None) -> str:
        return comparable(f"{relation}.{self.quoted}" if relation else self.quoted, self.type)

    @property
    def is_compared_exactly(self) -> bool:
        """Whether values that do not differ are the same: a variant is compared as JSON, together with its schema."""
        return not self.type.contains("variant")

    def differs(self, left: str, right: str) -> str:
        return differ(f"{left}.{self.quoted}", f"{right}.{self.quoted}", self.type)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Columns in their order."""

    all: tuple[TableColumn, ...]

    def __iter__(self) -> Iterator[TableColumn]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.all)

    def get(self, name: str) -> TableColumn | None:
        return next((column for column in self.all if column.name.lower() == name.lower()), None)

    def without(self, names: Iterable[str]) -> TableColumns:
        left_out = {name.lower() for name in names}
        return TableColumns(tuple(column for column in self.all if column.name.lower() not in left_out))

    def require(self, name: str, setting: str, table: TableName) -> TableColumn:
        """The column that a setting names, in backticks or without; StrategyError where the result does not have it."""
        column = self.get(name.strip()) or self.get(unquote(name))
        if column is not None:
            return column
        close = nearest(name, self.names)
        meant = f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(self.names)}."
        raise StrategyError(
            f"{setting} names column '{name}', which the result does not have; {meant}",
            where=str(table),
            remedy=f"Select '{name}' in the query, or correct {setting}.",
        )

    def sql(self, relation: str | None = None) -> str:
        return ", ".join(f"{relation}.{column.quoted}" if relation else column.quoted for column in self.all)


def columns_of(frame: DataFrame) -> TableColumns:
    fields: Sequence[Any] = frame.schema.jsonValue()["fields"]
    return TableColumns(tuple(TableColumn(field["name"], stored_type(from_json(field["type"]))) for field in fields))


def columns_in(metadata: TableMetadata) -> TableColumns:
    """Those of a table, without asking Spark."""
    columns = relation_of(metadata.fields).columns
    return TableColumns(tuple(TableColumn(column.name, column.type) for column in columns))


def result_columns(table: TableName, frame: DataFrame) -> TableColumns:
    """The columns of a result, refused where no table could have them."""
    columns = columns_of(frame)
    names: set[str] = set()
    for column in columns:
        if column.name.lower() in names:
            raise StrategyError(
                f"the result has column '{column.name}' twice",
                where=str(table),
                remedy="Give each column of the SELECT a name of its own; upper and lower case do not count.",
            )
        names.add(column.name.lower())
        if column.type.contains("interval"):
            raise StrategyError(
                f"column '{column.name}' is an interval ({column.type_text}), which a table cannot hold",
                where=str(table),
                remedy="Cast it to a number or a string in the query.",
            )
    return columns
