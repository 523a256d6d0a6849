"""How the pages of a REST source follow each other: the custom property `pagination`.

It is the name of a form, or a map with `kind` and the settings of that form:
`{kind: cursor, path: meta.next_cursor, parameter: cursor}`. Without it pages are linked as by `json_link`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

from tidegate.config.file_formats import FILE_FORMATS
from tidegate.contracts.issues import Issue
from tidegate.contracts.stage_contract import StageContract, is_text
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = [
    "PAGINATIONS",
    "CursorPages",
    "DetectedPages",
    "HeaderCursors",
    "HeaderLinks",
    "JsonLinks",
    "NumberedPages",
    "OffsetPages",
    "Pagination",
    "SinglePage",
    "read_pagination",
    "rest_issues",
]


@dataclass(frozen=True, slots=True)
class SinglePage:
    kind: ClassVar[str] = "none"


@dataclass(frozen=True, slots=True)
class DetectedPages:
    """The first page shows which of the other forms it is."""

    kind: ClassVar[str] = "auto"


@dataclass(frozen=True, slots=True)
class JsonLinks:
    """The page names the address of the next one."""

    kind: ClassVar[str] = "json_link"
    path: str = "next"


@dataclass(frozen=True, slots=True)
class HeaderLinks:
    """The header `Link` names the next page."""

    kind: ClassVar[str] = "header_link"
    rel: str = "next"


@dataclass(frozen=True, slots=True)
class OffsetPages:
    """The offset grows by the records that came, until none come: the server may give fewer than `limit`."""

    kind: ClassVar[str] = "offset"
    limit: int = 100
    limit_parameter: str = "limit"
    offset_parameter: str = "offset"
    total_path: str = ""
    """The number of all records."""

    has_more_path: str = ""
    """Whether there is a next page."""


@dataclass(frozen=True, slots=True)
class NumberedPages:
    kind: ClassVar[str] = "page_number"
    parameter: str = "page"
    first: int = 1
    size: int = 0
    """Records of a page; 0: as the server likes."""

    size_parameter: str = "page_size"
    total_path: str = ""
    """The number of all pages."""

    has_more_path: str = ""


@dataclass(frozen=True, slots=True)
class CursorPages:
    """The page holds the value of a parameter that gives the next one."""

    kind: ClassVar[str] = "cursor"
    path: str
    parameter: str = "cursor"
    has_more_path: str = ""


@dataclass(frozen=True, slots=True)
class HeaderCursors:
    """A header holds the value of a parameter that gives the next page."""

    kind: ClassVar[str] = "header_cursor"
    header: str
    parameter: str = "cursor"


Pagination = (
    SinglePage | DetectedPages | JsonLinks | HeaderLinks | OffsetPages | NumberedPages | CursorPages | HeaderCursors
)
PAGINATIONS: Mapping[str, type[Pagination]] = {
    **{
        form.kind: form
        for form in (JsonLinks, HeaderLinks, OffsetPages, NumberedPages, CursorPages, HeaderCursors, DetectedPages)
    },
    SinglePage.kind: SinglePage,
    "single_page": SinglePage,
}


def read_pagination(value: Any) -> Pagination:
    """Raises ValueError with what is wrong, for a sentence that begins with 'pagination'."""
    settings = {"kind": "json_link"} if value is None else {"kind": value} if isinstance(value, str) else value
    if not isinstance(settings, Mapping):
        raise ValueError("must be the name of a form, or a map with 'kind'")
    form = PAGINATIONS.get(str(settings.get("kind")))
    if form is None:
        raise ValueError(f"must be of kind {', '.join(PAGINATIONS)}, not {settings.get('kind')!r}")
    known = {field.name: field for field in fields(form)}
    for name, setting in settings.items():
        if name == "kind":
            continue
        if name not in known:
            raise ValueError(f"of kind {form.kind} has no setting '{name}'{_hint(name, known)}")
        _check_setting(name, setting, is_number=known[name].type == "int")
    missing = [name for name, field in known.items() if field.default is MISSING and name not in settings]
    if missing:
        raise ValueError(f"of kind {form.kind} needs '{missing[0]}'")
    values: dict[str, Any] = {name: setting for name, setting in settings.items() if name != "kind"}
    return form(**values)


def _check_setting(name: str, value: Any, is_number: bool) -> None:
    if is_number and (not isinstance(value, int) or isinstance(value, bool) or value < (name == "limit")):
        raise ValueError(f"needs a whole number as '{name}', not {value!r}")
    if not is_number and (not isinstance(value, str) or not value.strip()):
        raise ValueError(f"needs text as '{name}', not {value!r}")


def rest_issues(contract: StageContract) -> Iterator[Issue]:
    entry = contract.lookup("pagination")
    if entry is not None:
        try:
            pagination = read_pagination(entry.value)
        except ValueError as error:
            yield Issue(entry.path, f"'pagination' {error}", "write for example {kind: json_link, path: next}")
        else:
            file_format = contract.text("landing_file_format") or "json"
            if isinstance(pagination, OffsetPages | CursorPages) and _reader(file_format) != "json":
                message = f"'pagination' of kind {pagination.kind} looks into pages, which only JSON lets it do"
                yield Issue(entry.path, message, "write header_link, header_cursor, page_number or none")
            elif file_format != "json" and (isinstance(pagination, DetectedPages) or _looks_at_the_end(pagination)):
                what = "of kind auto" if isinstance(pagination, DetectedPages) else "with total_path or has_more_path"
                message = f"'pagination' {what} looks into documents of JSON, and the files are {file_format}"
                yield Issue(entry.path, message, "write json as 'landing_file_format', or another form")
    yield from contract.expect(
        "incremental_parameter", is_text, "the name of a query parameter", "updated_since", required=False
    )
    parameter = contract.lookup("incremental_parameter")
    if parameter is not None and contract.lookup("ingestion_filtering_column") is None:
        yield contract.missing("ingestion_filtering_column", contract.source, "updated_at")


def _reader(file_format: str) -> str:
    return FILE_FORMATS[file_format].reader if file_format in FILE_FORMATS else ""


def _looks_at_the_end(pagination: Pagination) -> bool:
    return bool(getattr(pagination, "total_path", "") or getattr(pagination, "has_more_path", ""))


def _hint(name: Any, known: Mapping[str, Any]) -> str:
    hint = did_you_mean(nearest(str(name), known, 1))
    return f"; {hint}" if hint else ""
