"""Values of secret-looking names, in whatever form they come back."""

from __future__ import annotations

import io
import json

import pytest

from tidegate.redaction import RedactingStream, holds_secret, log_pattern, looks_secret, redact, redacted, register


@pytest.mark.parametrize(
    "name",
    [
        *(
            "API_TOKEN",
            "db_password",
            "X-Auth",
            "aws_secret_access_key",
            "signature",
            "DB_PASSWD",
            "DB_PWD",
            "PGPASSWORD",
        ),
        *(
            "passphrase",
            "AWS_CREDENTIALS",
            "AWS_ACCESS_KEY_ID",
            "STRIPE_KEY",
            "accessKey",
            "privateKeyPem",
            "Set-Cookie",
        ),
    ],
)
def test_names_that_look_secret(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name", ["REGION", "key_column", "unique_key", "sortKeys", "author", "monkey", "compass", "password_column"]
)
def test_names_that_do_not(name: str) -> None:
    assert not looks_secret(name)


def test_what_is_registered_is_redacted_in_every_form() -> None:
    value = "s3'cr\\et \"é/?&"
    register(value, "API_TOKEN")
    forms = [
        value,
        value.replace("'", "''"),
        value.replace("\\", "\\\\").replace("'", "\\'"),
        json.dumps({"a": value}),
        json.dumps({"a": value}, ensure_ascii=False),
        repr(value),
        "https://x/?t=s3%27cr%5Cet%20%22%C3%A9%2F%3F%26",
    ]
    for form in forms:
        assert "***" in redact(f"SELECT '{form}' AS x"), form
        assert "cr" not in redact(form), form
    assert holds_secret(f"a {value} b".encode())


def test_each_line_of_a_key_is_secret() -> None:
    register("-----BEGIN KEY-----\nMIIEvQIBADAN\nabcdefghijkl\n", "PRIVATE_KEY")
    assert redact("near MIIEvQIBADAN in line 2") == "near *** in line 2"


def test_a_word_of_a_value_that_stands_without_quotes_is_secret() -> None:
    register("prefix-9f8e7d6c5b4a", "API_TOKEN")
    assert redact("unknown column '9f8e7d6c5b4a' near prefix") == "unknown column '***' near prefix"


def test_only_values_of_secret_looking_names_are_registered() -> None:
    register("eu-central-1", "REGION")
    assert redact("eu-central-1") == "eu-central-1"


@pytest.mark.parametrize("value", ["", "abc", "true", "1234567", None, True, "  \n "])
def test_what_would_be_found_everywhere_is_left_alone(value: object) -> None:
    register(value, "USE_AUTH")
    assert redact('{"ok": true, "n": 1234567, "text": "abc"}') == '{"ok": true, "n": 1234567, "text": "abc"}'


def test_a_short_value_is_redacted_where_it_stands_alone() -> None:
    register("order", "DB_PASSWORD")
    assert redact("silver.orders by order, 'order'") == "silver.orders by ***, '***'"


def test_documents_are_redacted_to_their_depth() -> None:
    register("planted-value", "TOKEN")
    document = {"a": ["x planted-value", {"b": ("planted-value", 3, None)}], "planted-value": 1}
    assert redacted(document) == {"a": ["x ***", {"b": ("***", 3, None)}], "planted-value": 1}


def test_a_stream_writes_no_secret_and_is_otherwise_itself() -> None:
    register("planted-value", "TOKEN")
    inner = io.StringIO()
    stream = RedactingStream(inner)
    print("it is planted-value", file=stream)
    stream.writelines(["planted-value\n"])
    assert inner.getvalue() == "it is ***\n***\n"
    assert stream.writable()
    with pytest.raises(TypeError):
        stream.write(b"")  # type: ignore[arg-type]


def test_the_pattern_for_the_log_holds_nothing_that_a_pattern_could_trip_over(monkeypatch: pytest.MonkeyPatch) -> None:
    register("a{b}$c|d*e\\Q", "TOKEN")
    monkeypatch.setenv("NEVER_READ_PASSWORD", "hunter2hunter2")
    pattern = log_pattern()
    assert "a.b..c.d.e.Q" in pattern.split("|")
    assert "hunter2hunter2" in pattern.split("|")
    assert all(sign.isalnum() or sign in ".|" for sign in pattern)
