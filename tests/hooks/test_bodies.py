"""What is posted: the documents of the presets, and templates of one's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.hooks.told import built, check, event, webhook
from tidegate.config import Secret, WebHook
from tidegate.config.body_template import mistake_in
from tidegate.hooks.events import Event
from tidegate.hooks.payload import payload_of
from tidegate.hooks.posting import body_of
from tidegate.hooks.presets import preset_headers

FAILED = event("pipeline_error", status="failed", error='a "quoted" <error> & more\nin two lines')
ENDED = event("pipeline_complete", status="success", duration_ms=10, rows_written=3)


def sent(hook: WebHook, what: Event) -> Any:
    return json.loads(body_of(hook, payload_of(what, "shop", "run")))


def test_without_a_preset_the_payload_itself_is_sent() -> None:
    assert sent(webhook("http://x"), ENDED) == payload_of(ENDED, "shop", "run")


def test_slack_gets_text_in_which_nothing_is_taken_for_a_link() -> None:
    document = sent(webhook("http://x", preset="slack"), FAILED)
    assert document["text"].startswith(':x: shop: run-1 has ended: failed (a "quoted" &lt;error&gt; &amp; more')
    assert [block["type"] for block in document["blocks"]] == ["section", "context"]


@pytest.mark.parametrize("letter", ["x", "<"])
def test_a_very_long_error_does_not_make_a_document_that_slack_refuses(letter: str) -> None:
    long = event("pipeline_error", status="failed", error=letter * 100_000)
    document = sent(webhook("http://x", preset="slack"), long)
    assert len(document["blocks"][0]["text"]["text"]) <= 3000


def test_teams_gets_an_adaptive_card() -> None:
    (attachment,) = sent(webhook("http://x", preset="teams"), FAILED)["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    text, facts = attachment["content"]["body"]
    assert text["color"] == "Attention"
    assert {"title": "status", "value": "failed"} in facts["facts"]


def test_pagerduty_opens_an_incident_and_success_closes_the_same_one() -> None:
    hook = webhook("http://x", preset="pagerduty", key=Secret("routing"))
    opened, closed = sent(hook, FAILED), sent(hook, ENDED)
    assert (opened["routing_key"], opened["event_action"], opened["payload"]["severity"]) == (
        "routing",
        "trigger",
        "error",
    )
    assert closed["event_action"] == "resolve"
    assert opened["dedup_key"] == closed["dedup_key"] == "tidegate/shop"


@pytest.mark.parametrize(
    ("what", "level"),
    [
        (FAILED, "error"),
        (ENDED, "success"),
        (event("check_result", "silver.a", result=check("warned")), "warning"),
        (event("check_result", "silver.a", result=check("error")), "error"),
        (event("after_model_run", "silver.a", result=built("blocked")), "error"),
        (event("drift_detected", "silver.a"), "warning"),
        (event("pipeline_start"), "info"),
    ],
)
def test_datadog_gets_a_level(what: Event, level: str) -> None:
    assert sent(webhook("http://x", preset="datadog"), what)["alert_type"] == level


def test_datadog_knows_the_sender_by_a_header() -> None:
    assert preset_headers(webhook("http://x", preset="datadog", key=Secret("k"))) == {"DD-API-KEY": Secret("k")}
    assert preset_headers(webhook("http://x", preset="pagerduty", key=Secret("k"))) == {}


def test_values_in_a_body_of_ones_own_are_escaped_for_json() -> None:
    body = '{"text": "{{ event }}: {{ error }}", "data": {{ data | tojson }}, "none": "{{ model }}{{ data.no.such }}"}'
    document = sent(webhook("http://x", body=body), FAILED)
    assert document["text"] == f"pipeline_error: {FAILED.data['error']}"
    assert document["data"]["status"] == "failed"
    assert document["none"] == ""


def test_what_an_event_does_not_have_is_empty_to_a_filter_too() -> None:
    body = '{"text": "{{ model | upper }}{{ error | truncate(20) }}{{ error | default("no error") }}"}'
    assert sent(webhook("http://x", body=body), ENDED) == {"text": "no error"}


def test_a_body_may_choose_by_what_the_event_has() -> None:
    body = '{"text": "{% if error %}bad{% else %}good{% endif %}", "rows": {{ rows_written or 0 }}}'
    hook = webhook("http://x", body=body)
    assert sent(hook, FAILED) == {"text": "bad", "rows": 0}
    assert sent(hook, ENDED) == {"text": "good", "rows": 3}


def test_a_body_that_is_not_json_is_refused_unless_a_header_says_what_it_is() -> None:
    payload = payload_of(ENDED, "shop", "run")
    with pytest.raises(ValueError, match="its body is not JSON"):
        body_of(webhook("http://x", body="run {{ run_id }}"), payload)
    plain = webhook("http://x", body="run {{ run_id }}", headers={"content-type": Secret("text/plain")})
    assert body_of(plain, payload) == b"run run-1"


def test_a_mistake_in_a_template_says_its_line() -> None:
    assert mistake_in('{"a": "{{ event }}"}') is None
    assert "line 2" in str(mistake_in('{\n"a": "{{ event "}'))


def test_a_template_is_kept_from_what_is_none_of_its_business() -> None:
    hook = webhook("http://x", body='"{{ event.__class__.__mro__ }}{{ data.__init__.__globals__ }}"')
    assert sent(hook, ENDED) == ""


def test_a_template_that_fails_says_so() -> None:
    with pytest.raises(ValueError, match="cannot be rendered"):
        body_of(webhook("http://x", body="{{ 1 / 0 }}"), payload_of(ENDED, "shop", "run"))
