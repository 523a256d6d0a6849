"""How the rows of a table are computed: by its SQL, or by the code of a Python model (`python_build.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from tidegate.compiler import bind
from tidegate.errors import ModelError
from tidegate.planner.intervals import Interval
from tidegate.transform import Built, build_frame
from tidegate.write import WriteOutcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.runs.build.table_build import TableBuild

__all__ = ["QueryBuild", "SqlBuild"]


class QueryBuild(Protocol):
    """Of one try at one table. Its results can be read until `close`."""

    def built(self, interval: Interval | None = None, forget: bool = False) -> Built:
        """The result: of the interval, and `forget`: as if the table did not exist."""

    def all_rows(self) -> DataFrame:
        """What a full build writes."""

    def write(
        self, built: Built, interval: Interval | None, dropped: Mapping[str, str], rebuilt: bool
    ) -> WriteOutcome: ...

    def explained(self, error: Exception, explained: ModelError) -> ModelError:
        """Of what Spark raised while the result was computed or written."""

    def close(self) -> None: ...


class SqlBuild:
    def __init__(self, build: TableBuild) -> None:
        self._build = build

    def built(self, interval: Interval | None = None, forget: bool = False) -> Built:
        build = self._build
        build.query = bind(build.run.compiled, build.table, build.values(interval))
        build.attempt.sql = build.query.sql
        query = build.arrival.query if build.arrival else build.query
        built = build_frame(build.session, query, build.sources(build.decision.inserted_since, forget))
        build.attempt.sql = built.sql
        build.take_notes(built)
        return built

    def all_rows(self) -> DataFrame:
        return self.built().frame

    def write(self, built: Built, interval: Interval | None, dropped: Mapping[str, str], rebuilt: bool) -> WriteOutcome:
        request = self._build.request(built.frame, interval, dropped, rebuilt)
        return self._build.write_request(request, built.bad_records)

    def explained(self, error: Exception, explained: ModelError) -> ModelError:
        return explained

    def close(self) -> None:
        pass
