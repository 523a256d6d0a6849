"""Pages of a REST API, each landed as it came, as one file.

`ingestion_read_strategy: incremental` with `ingestion_filtering_column` and `incremental_parameter`: the parameter gets
the greatest value of the column that earlier runs have seen, and the greatest that this one sees is the next bound.
Reading stops at a page without records, a page that names no next one, and fails where a page leads to one that was
read already, or is byte by byte the page before it: a server that ignores its parameters would never end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tidegate.config import RestSource
from tidegate.contracts.rest_pagination import DetectedPages, read_pagination
from tidegate.errors import ConfigError, FailureKind, SourceError
from tidegate.ingest.port import Batch, Bounds, Extent, SourceRequest
from tidegate.ingest.rest.page_detection import detected
from tidegate.ingest.rest.page_server import PageServer, RawPage, with_parameters
from tidegate.ingest.rest.rest_pages import (
    ReadPage,
    first_target,
    greatest,
    next_link,
    next_parameters,
    read_page,
)

__all__ = ["RestConnector"]


@dataclass(frozen=True, slots=True)
class _Position:
    """The continuation inside a run: `target` is the page to read next."""

    target: str
    page: int = 1
    records: int = 0
    """Of the pages before."""

    reached: str | None = None

    form: Mapping[str, Any] | None = None
    """The pagination that the first page showed."""


class RestConnector:
    def __init__(self, request: SourceRequest) -> None:
        self._request = request
        self._source = source = request.ingestion.source
        settings = request.settings.sources.get(source.source)
        if settings is not None and not isinstance(settings, RestSource):
            raise ConfigError(
                f"source '{source.source}' is of kind {settings.kind}, and connector rest reads those of kind rest",
                where=f"[sources.{source.source}]",
                remedy='write kind = "rest" with base_url, or name another source in the contract',
            )
        self._pagination = read_pagination(source.properties.get("pagination"))
        self._parameter = None if source.full_snapshot else source.properties.get("incremental_parameter")
        self._server = PageServer(source.endpoint or "", source.source, settings, request.timing)

    def upper_bound(self, lower: str | None) -> None:
        """A server does not report how far it goes: the bound is the greatest value that is seen."""

    def batches(self, bounds: Bounds, state: str | None, folder: Path) -> Iterator[Batch]:
        position = self._start(bounds) if state is None else self._resumed(state)
        first, rows, visited, before = position.page, 0, {position.target}, b""
        while True:
            self._request.check_cancelled()
            raw = self._server.get(position.target)
            page = self._read(raw)
            if page.is_empty and not (self._source.full_snapshot and position.page == 1):
                if position.reached is None and self._is_bound_expected(position, page):
                    raise self._without_values(raw)
                return
            if raw.body == before:
                message = "the page is the same as the one before: the server does not go on to the next page"
                raise self._server.unexpected(message, raw.target)
            before = raw.body
            reached = self._reached(raw, page, position.reached or bounds.lower)
            position = self._with_form(raw, page, position)
            following = self._next(raw, page, position, reached)
            if following is None and reached is None and self._is_bound_expected(position, page):
                raise self._without_values(raw)
            if following is not None and following.target in visited:
                message = "the next page is one that was read already: the pages lead in a circle"
                raise self._server.unexpected(message, raw.target)
            name = f"page.{self._source.format}"
            (folder / name).write_bytes(raw.body)
            count = None if page.records is None else len(page.records)
            rows += count or 0
            yield Batch(
                files=(name,),
                rows=count,
                state=None if following is None else json.dumps(asdict(following)),
                reached=reached,
            )
            pages = position.page - first + 1
            self._request.report(Extent("pages", pages, None if page.records is None else rows))
            if following is None:
                return
            position = following
            visited.add(position.target)

    def close(self) -> None:
        self._server.close()

    def _start(self, bounds: Bounds) -> _Position:
        target = self._server.target
        if self._parameter and bounds.lower is not None:
            target = with_parameters(target, {self._parameter: bounds.lower})
        return _Position(first_target(self._pagination, target))

    def _resumed(self, state: str) -> _Position:
        position = _Position(**json.loads(state))
        if not position.target.startswith("/"):  # behind the origin it could lead to another server
            message = f"the manifest of the read names '{position.target[:100]}' as the next page, which is no path"
            raise self._server.unexpected(message, "")
        return position

    def _is_bound_expected(self, position: _Position, page: ReadPage) -> bool:
        """Records were seen, whose greatest value the next read is to start at."""
        source = self._source
        return (
            not source.full_snapshot
            and source.filtering_column is not None
            and page.records is not None
            and position.records + len(page.records) > 0
        )

    def _without_values(self, raw: RawPage) -> SourceError:
        message = f"no record has a value in '{self._source.filtering_column}', so there is no bound to continue from"
        remedy = "correct 'ingestion_filtering_column' in the contract, or set ingestion_read_strategy to full_snapshot"
        return self._server.unexpected(message, raw.target, remedy=remedy)

    def _read(self, raw: RawPage) -> ReadPage:
        source = self._source
        try:
            return read_page(raw.body, source.format, source.multiline, source.content_path)
        except ValueError as error:
            # A proxy or a server that restarts answers so for a while.
            raise self._server.unexpected(f"the page {error}", raw.target, FailureKind.CONNECTION_FAILED) from None

    def _reached(self, raw: RawPage, page: ReadPage, bound: str | None) -> str | None:
        column = self._source.filtering_column
        if column is None or page.records is None or self._source.full_snapshot:
            return None
        try:
            return greatest(column, page.records, bound)
        except ValueError as error:
            raise self._server.unexpected(f"the page {error}", raw.target) from None

    def _with_form(self, raw: RawPage, page: ReadPage, position: _Position) -> _Position:
        if not isinstance(self._pagination, DetectedPages) or position.form is not None or page.is_empty:
            return position
        try:
            form = detected(page, raw.headers)
        except ValueError as error:
            raise self._server.unexpected(f"the page {error}", raw.target) from None
        return replace(position, form={"kind": form.kind, **{k: v for k, v in asdict(form).items() if v != ""}})

    def _next(self, raw: RawPage, page: ReadPage, position: _Position, reached: str | None) -> _Position | None:
        records = position.records + len(page.records or ())
        try:
            pagination = self._pagination if position.form is None else read_pagination(position.form)
            link = next_link(pagination, page, raw.headers)
            parameters = next_parameters(pagination, page, raw.headers, position.page, records)
        except ValueError as error:
            raise self._server.unexpected(f"the page {error}", raw.target) from None
        if page.is_empty or (link is None and parameters is None):
            return None
        if link is not None:
            target = self._server.follow(raw.target, link)
        else:
            target = with_parameters(raw.target, parameters or {})
        return replace(position, target=target, page=position.page + 1, records=records, reached=reached)
