"""Pages of a REST source: each form of pagination, and what is landed of each page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.landing_project import REST, LandingProject, ingestion
from tests.ingest.scripted_server import Answer, Call, ScriptedServer, serving
from tidegate.contracts.rest_pagination import (
    CursorPages,
    JsonLinks,
    NumberedPages,
    Pagination,
    SinglePage,
    read_pagination,
)
from tidegate.errors import SourceError
from tidegate.ingest.rest.page_detection import detected
from tidegate.ingest.rest.rest_pages import ReadPage, greatest

ROWS = [{"id": number} for number in range(1, 8)]
"""Seven rows, in pages of three."""


def by_next_link(call: Call) -> Answer:
    at = int(call.query.get("at", 0))
    following = f"/orders?at={at + 3}" if at + 3 < len(ROWS) else None
    return Answer({"results": ROWS[at : at + 3], "next": following})


def by_link_header(call: Call) -> Answer:
    at = int(call.query.get("at", 0))
    links = f'<http://{call.headers["host"]}/orders?at=0>; rel="first"'
    if at + 3 < len(ROWS):
        links += f', <http://{call.headers["host"]}/orders?at={at + 3}>; title="a, b"; rel="next"'
    return Answer({"results": ROWS[at : at + 3]}, headers={"Link": links})


def by_offset(call: Call) -> Answer:
    at = int(call.query["offset"])
    return Answer({"results": ROWS[at : at + min(3, int(call.query["limit"]))]})


def by_page_number(call: Call) -> Answer:
    page = int(call.query["page"])
    return Answer({"results": ROWS[page * 3 - 3 : page * 3]})


def by_cursor(call: Call) -> Answer:
    at = int(call.query.get("after", 0))
    return Answer({"results": ROWS[at : at + 3], "meta": {"cursor": at + 3 if at + 3 < len(ROWS) else None}})


def by_header_cursor(call: Call) -> Answer:
    at = int(call.query.get("after", 0))
    return Answer({"results": ROWS[at : at + 3]}, headers={"X-Next": str(at + 3)} if at + 3 < len(ROWS) else {})


def with_totals(call: Call) -> Answer:
    """Beyond the last page there is an error, as with many servers."""
    page, at = int(call.query.get("page", 1)), int(call.query.get("offset", 0))
    if page > 3 or at >= len(ROWS):
        return Answer(status=404)
    at = at or (page - 1) * 3
    about = {"page": page, "total_pages": 3, "total": len(ROWS), "more": at + 3 < len(ROWS), "after": at + 3}
    return Answer({"results": ROWS[at : at + 3], "meta": about})


def by_token(call: Call) -> Answer:
    at = int(call.query.get("pageToken", "t0")[1:])
    return Answer({"results": ROWS[at : at + 3], **({"nextPageToken": f"t{at + 3}"} if at + 3 < len(ROWS) else {})})


FORMS: dict[str, tuple[Any, Any, list[str]]] = {
    "json_link by default": (None, by_next_link, ["/orders", "/orders at=3", "/orders at=6"]),
    "header_link": ("header_link", by_link_header, ["/orders", "/orders at=3", "/orders at=6"]),
    "offset, of a server that gives less": (
        {"kind": "offset", "limit": 5},
        by_offset,
        [f"/orders limit=5 offset={at}" for at in (0, 3, 6, 7)],
    ),
    "page_number": ("page_number", by_page_number, [f"/orders page={page}" for page in (1, 2, 3, 4)]),
    "cursor": (
        {"kind": "cursor", "path": "meta.cursor", "parameter": "after"},
        by_cursor,
        ["/orders", "/orders after=3", "/orders after=6"],
    ),
    "header_cursor": (
        {"kind": "header_cursor", "header": "X-Next", "parameter": "after"},
        by_header_cursor,
        ["/orders", "/orders after=3", "/orders after=6"],
    ),
    "offset to a total": (
        {"kind": "offset", "limit": 3, "total_path": "meta.total"},
        with_totals,
        [f"/orders limit=3 offset={at}" for at in (0, 3, 6)],
    ),
    "page_number to a total": (
        {"kind": "page_number", "total_path": "meta.total_pages"},
        with_totals,
        [f"/orders page={page}" for page in (1, 2, 3)],
    ),
    "page_number while there is more": (
        {"kind": "page_number", "has_more_path": "meta.more"},
        with_totals,
        [f"/orders page={page}" for page in (1, 2, 3)],
    ),
    "cursor while there is more": (
        {"kind": "cursor", "path": "meta.after", "parameter": "offset", "has_more_path": "meta.more"},
        with_totals,
        ["/orders", "/orders offset=3", "/orders offset=6"],
    ),
    "auto, linked": ("auto", by_next_link, ["/orders", "/orders at=3", "/orders at=6"]),
    "auto, linked by header": ("auto", by_link_header, ["/orders", "/orders at=3", "/orders at=6"]),
    "auto, by token": ("auto", by_token, ["/orders", "/orders pageToken=t3", "/orders pageToken=t6"]),
    "auto, numbered": ("auto", with_totals, ["/orders", "/orders page=2", "/orders page=3"]),
}


@pytest.mark.parametrize(("pagination", "answer", "targets"), FORMS.values(), ids=FORMS)
def test_each_form_of_pagination_reads_every_row_once(
    pagination: Any, answer: Any, targets: list[str], tmp_path: Path
) -> None:
    with serving(answer) as server:
        done = project(tmp_path, server).land(ingestion(**REST, pagination=pagination))
    landed = LandingProject(tmp_path)
    assert [row for page in landed.pages() for row in json.loads(page)["results"]] == ROWS
    assert server.targets == targets
    assert (done.rows, done.batches) == (7, 3)
    assert landed.listed() == ["run-1/000001.json", "run-1/000002.json", "run-1/000003.json"]


def test_a_read_of_detected_pages_is_continued_in_the_form_that_its_first_page_showed(tmp_path: Path) -> None:
    fails = True

    def answer(call: Call) -> Answer:
        return Answer(status=400) if fails and call.query.get("page") == "3" else with_totals(call)

    contract = ingestion(**REST, pagination="auto")
    with serving(answer) as server:
        with pytest.raises(SourceError, match="HTTP 400"):
            project(tmp_path, server).land(contract)
        fails = False
        done = project(tmp_path, server).land(contract)
    assert (done.rows, done.batches, done.resumed) == (7, 3, True)
    assert server.targets == ["/orders", "/orders page=2", "/orders page=3", "/orders page=3"]


@pytest.mark.parametrize(
    ("document", "form"),
    [
        ({"results": [1]}, SinglePage()),
        ([1, 2], SinglePage()),
        ({"next": None, "results": [1]}, SinglePage()),
        ({"next": "/p?2"}, JsonLinks("next")),
        ({"results": [{"next": "/p?2"}]}, SinglePage()),
        ({"@odata.nextLink": "https://a.example/p?2"}, JsonLinks("@odata.nextLink")),
        ({"_links": {"next": {"href": "/p?2"}}}, JsonLinks("_links.next.href")),
        ({"paging": {"next": {"after": "x", "url": "/p"}}}, JsonLinks("paging.next.url")),
        ({"meta": {"next_cursor": "abc"}}, CursorPages("meta.next_cursor", "cursor")),
        ({"next": "abc"}, CursorPages("next", "cursor")),
        ({"next_page": 2}, CursorPages("next_page", "page")),
        ({"next": 2}, CursorPages("next", "page")),
        ({"page": 1, "total_pages": 1}, SinglePage()),
        ({"totalPages": 4, "number": 0}, NumberedPages(first=0, total_path="totalPages")),
        ({"a": {"currentPage": 1, "pages": "3"}}, NumberedPages(total_path="a.pages")),
    ],
)
def test_a_page_shows_its_form(document: Any, form: Pagination) -> None:
    assert detected(ReadPage(document, [1], is_empty=False), {}) == form


def test_several_pages_without_a_number_are_refused(tmp_path: Path) -> None:
    page = {"results": [1], "total_pages": 3}
    with (
        serving(lambda call: Answer(page)) as server,
        pytest.raises(SourceError, match="one of several and does not say which"),
    ):
        project(tmp_path, server).land(ingestion(**REST, pagination="auto"))
    assert LandingProject(tmp_path).listed() == []


def test_a_server_that_ignores_the_detected_parameter_gives_no_row_twice(tmp_path: Path) -> None:
    page = {"results": [1], "page": 1, "total_pages": 3}
    with serving(lambda call: Answer(page)) as server, pytest.raises(SourceError, match="the same as the one before"):
        project(tmp_path, server).land(ingestion(**REST, pagination="auto"))
    assert LandingProject(tmp_path).listed() == []


@pytest.mark.parametrize(
    ("pagination", "message"),
    [
        ({"kind": "offset", "total_path": "total"}, "has no number at total_path 'total'"),
        ({"kind": "page_number", "has_more_path": "more"}, "has neither true nor false at has_more_path 'more'"),
    ],
)
def test_a_page_that_does_not_say_where_the_end_is_fails(pagination: Any, message: str, tmp_path: Path) -> None:
    with serving(lambda call: Answer({"results": [1]})) as server, pytest.raises(SourceError, match=message):
        project(tmp_path, server).land(ingestion(**REST, pagination=pagination))


def test_a_page_is_landed_byte_by_byte(tmp_path: Path) -> None:
    body = b'\xef\xbb\xbf{"results" :\n[ {"b":1.10,"b":2, "a":"\\u00e9 \xc3\xa9"} ]\t}\r\n'
    with serving(lambda call: Answer(body)) as server:
        project(tmp_path, server).land(ingestion(**REST))
    assert (tmp_path / "landing/orders/run-1/000001.json").read_bytes() == body


def test_an_empty_page_ends_the_read_whatever_it_names_next(tmp_path: Path) -> None:
    def answer(call: Call) -> Answer:
        return Answer({"results": [] if call.query else [{"id": 1}], "next": "/orders?at=1"})

    with serving(answer) as server:
        done = project(tmp_path, server).land(ingestion(**REST))
    assert (done.rows, done.batches, len(server.calls)) == (1, 1, 2)


def test_an_empty_snapshot_is_landed_as_one(tmp_path: Path) -> None:
    with serving(lambda call: Answer({"results": []})) as server:
        done = project(tmp_path, server).land(ingestion(**REST))
    (manifest,) = LandingProject(tmp_path).manifests()
    assert (done.rows, done.files, manifest["complete"], manifest["rows"]) == (0, ("run-1/000001.json",), True, 0)


def test_pages_that_lead_in_a_circle_fail(tmp_path: Path) -> None:
    def answer(call: Call) -> Answer:
        at = int(call.query.get("at", 0))
        return Answer({"results": [{"id": at}], "next": f"/orders?at={(at + 1) % 3}"})

    with serving(answer) as server, pytest.raises(SourceError, match="lead in a circle"):
        project(tmp_path, server).land(ingestion(**REST))
    assert server.targets == ["/orders", "/orders at=1", "/orders at=2", "/orders at=0"]
    assert LandingProject(tmp_path).listed() == []


@pytest.mark.parametrize("pagination", ["page_number", "offset", {"kind": "cursor", "path": "results.0.at"}])
def test_a_server_that_ignores_its_parameters_does_not_keep_the_read_forever(pagination: Any, tmp_path: Path) -> None:
    """It gives its first page again and again, or, asked for pages behind the last one, its last."""
    same = pytest.raises(SourceError, match="the page is the same as the one before")
    with serving(lambda call: Answer({"results": [{"at": 1}]})) as server, same:
        project(tmp_path, server).land(ingestion(**REST, pagination=pagination))
    assert len(server.calls) == 2
    assert LandingProject(tmp_path).listed() == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>busy</html>", "the page is not JSON"),
        (b'{"results": [1, 2', "the page is not JSON"),
        (b"\xff\xfe\x00", "the page is not UTF-8 text"),
        (b'{"error": "no such thing"}', "the page has nothing at content_path 'results'"),
        (b'{"results": 5}', "the page has no records at content_path 'results' but 5"),
        (b'{"results": [1], "next": 7}', "the page has no address at 'next' but 7"),
        (b"[" * 100_000, "the page is not JSON"),
    ],
)
def test_a_page_that_cannot_be_understood_is_not_landed(body: bytes, message: str, tmp_path: Path) -> None:
    with serving(lambda call: Answer(body)) as server, pytest.raises(SourceError, match=message):
        project(tmp_path, server).land(ingestion(**REST))
    assert LandingProject(tmp_path).listed() == []
    assert not list((tmp_path / "landing/orders/run-1").glob("*"))


def test_json_lines_and_other_formats_are_landed_as_they_are(tmp_path: Path) -> None:
    for number, (form, body, rows) in enumerate(
        [("jsonl", b'{"id":1}\n\n{"id":2}\n', 2), ("json", b'{"id":1}\n{"id":2}', 2), ("csv", b"id\n1\n", None)]
    ):
        values = {**REST, "landing_file_format": form, "content_path": "", "json_multiline": False}
        with serving(lambda call, body=body: Answer(body)) as server:  # type: ignore[misc]
            done = project(tmp_path / str(number), server).land(ingestion(**values))
        assert (done.rows, done.files) == (rows, (f"run-1/000001.{form}",))
        assert (tmp_path / str(number) / "landing/orders" / done.files[0]).read_bytes() == body


INCREMENTAL = {
    **REST,
    "ingestion_read_strategy": "incremental",
    "ingestion_filtering_column": "changed",
    "incremental_parameter": "since",
    "pagination": {"kind": "page_number", "size": 2, "size_parameter": "size"},
}


class Changing:
    """A server with rows that changed at a time, `since` excluded."""

    def __init__(self, *times: str) -> None:
        self.times = list(times)

    def __call__(self, call: Call) -> Answer:
        rows = [{"changed": time} for time in self.times if time > call.query.get("since", "")]
        page = int(call.query["page"])
        return Answer({"results": rows[page * 2 - 2 : page * 2]})


def test_the_greatest_value_that_was_seen_is_the_next_bound(tmp_path: Path) -> None:
    source = Changing("2026-01-03", "2026-01-01", "2026-01-02")
    with serving(source) as server:
        shop = project(tmp_path, server)
        assert shop.land(ingestion(**INCREMENTAL)).checkpoint == "2026-01-03"
        assert server.targets[0] == "/orders size=2 page=1"
        source.times += ["2026-02-01"]
        second = shop.land(ingestion(**INCREMENTAL))
        assert server.targets[-2:] == [
            "/orders since=2026-01-03 size=2 page=1",
            "/orders since=2026-01-03 size=2 page=2",
        ]
        assert (second.bounds.lower, second.checkpoint, second.rows) == ("2026-01-03", "2026-02-01", 1)
        nothing = shop.land(ingestion(**INCREMENTAL))
    assert (nothing.batches, nothing.checkpoint) == (0, "2026-02-01")
    assert len(shop.manifests()) == 2


@pytest.mark.parametrize("rows", [[{"changed": None}] * 5, [{"id": 1}] * 4])
def test_records_without_a_value_give_no_bound_and_are_not_landed_again_and_again(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    def answer(call: Call) -> Answer:
        page = int(call.query["page"])
        return Answer({"results": rows[page * 2 - 2 : page * 2], "page": page})

    with serving(answer) as server:
        shop = project(tmp_path, server)
        for _ in range(2):
            with pytest.raises(SourceError, match="no record has a value in 'changed'") as caught:
                shop.land(ingestion(**INCREMENTAL))
        assert shop.listed() == []
    assert "full_snapshot" in str(caught.value.remedy)


def test_values_compare_as_numbers_or_times_and_stay_as_they_were_written() -> None:
    rows = [{"at": 9}, {"at": "10"}, {"at": None}, {}]
    assert greatest("at", rows, None) == "10"
    assert greatest("at", rows, "11.0") == "11.0"
    times = [{"at": "2026-01-01T10:00:00+02:00"}, {"at": "2026-01-01T09:00:00Z"}, {"at": "2026-01-01"}]
    assert greatest("at", times, None) == "2026-01-01T09:00:00Z"
    assert greatest("a.b", [{"a": {"b": 3}}], "2") == "3"
    with pytest.raises(ValueError, match="neither a number nor an ISO time"):
        greatest("at", [{"at": "yesterday"}], None)
    with pytest.raises(ValueError, match="cannot be compared"):
        greatest("at", [{"at": 5}], "2026-01-01")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("next", "must be of kind"),
        ([], "must be the name of a form"),
        ({"kind": "cursor"}, "needs 'path'"),
        ({"kind": "offset", "limit": 0}, "a whole number as 'limit'"),
        ({"kind": "offset", "limits": 5}, "no setting 'limits'; did you mean limit"),
        ({"kind": "json_link", "path": ""}, "needs text as 'path'"),
    ],
)
def test_a_pagination_that_is_none_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_pagination(value)


def project(root: Path, server: ScriptedServer) -> LandingProject:
    root.mkdir(exist_ok=True)
    return LandingProject(root, f'[sources.shop]\nkind = "rest"\nbase_url = "{server.url}"\n')
