"""Values of secret-looking names, in whatever form they come back."""

from __future__ import annotations

import io
import json
from urllib.parse import quote

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


@pytest.mark.parametrize(
    ("value", "password"),
    [
        ("postgresql://ann:horse-battery@db.example/shop", "horse-battery"),
        ("postgresql://ann:staple%40%2Fcorrect@db.example:5432/shop?sslmode=require", "staple@/correct"),
        ("redis://:only-a-password@cache:6379/0", "only-a-password"),
        ("mysql://ann:with@sign-inside@db/shop", "with@sign-inside"),
        ("amqp://ann:with/slash-inside@queue", "with/slash-inside"),
        ("jdbc:postgresql://db/shop?user=ann&password=jdbc-password&ssl=true", "jdbc-password"),
        ("host=db user=ann password='quoted password' dbname=shop", "quoted password"),
        ("host=db password=plain-password dbname=shop", "plain-password"),
        ("AccountName=shop;AccountKey=azure-account==;EndpointSuffix=core", "azure-account=="),
        ("Driver={ODBC Driver 18};Server=db;Uid=ann;Pwd={my;pass word};Encrypt=yes", "my;pass word"),
        ("Server=db;Pwd={closing}}brace};Uid=ann", "closing}brace"),
        ("Server=db;Password=an unquoted one & more;Uid=ann", "an unquoted one & more"),
        ('host=db user=ann password="se cret1" dbname=shop', "se cret1"),
        ("host=db password=semi;colon-inside dbname=shop", "semi;colon-inside"),
        ("jdbc:sqlserver://db;user=ann;password={braced;one};encrypt=true", "braced;one"),
        ("jdbc:oracle:thin:ann/tigerpass@//db.example:1521/shop", "tigerpass"),
        ("jdbc:oracle:thin:ann/tigerpass@db.example:1521:shop", "tigerpass"),
        ('jdbc:oracle:thin:ann/"tiger@pass"@//db.example:1521/shop', "tiger@pass"),
        ("ann/easy-connect@//db.example:1521/shop", "easy-connect"),
        ("ann:go-p@ss/word@tcp(db.example:3306)/shop?parseTime=true", "go-p@ss/word"),
        ("ann:go-password@/shop", "go-password"),
        ("https://maps.example/api?key=an-api-key&q=x", "an-api-key"),
    ],
)
def test_a_password_inside_an_address_is_redacted_and_the_address_is_not(value: str, password: str) -> None:
    register(value, "DATABASE_URL")
    shown = redact(f"cannot reach {value} as ann: {password} was refused")
    for form in (password, quote(password, safe="")):
        assert form not in shown
    assert shown.endswith("as ann: *** was refused")
    assert redact("db.example and shop and ann and 5432") == "db.example and shop and ann and 5432"


@pytest.mark.parametrize(
    "value",
    [
        "https://db.example:8080/path@v1",
        "postgresql://ann@db.example/shop",
        "postgresql://db.example/shop?sort_key=unique_name",
        "--auth=basic-method",
        "key=unique_name",
        "key = 'unique_name' and x = 1",
        "customer_key = 'unique_name'",
        "auth=basic-method host=db",
        "registry.example:5000/team/unique_name@sha256:0123",
        "git@github.example:team/unique_name",
        "models/unique_name@v1",
    ],
)
def test_an_address_without_a_password_holds_nothing_to_redact(value: str) -> None:
    register(value, "SERVICE_URL")
    assert redact(f"{value} unique_name basic-method") == f"{value} unique_name basic-method"


def test_a_password_that_is_its_user_too_is_redacted_where_it_is_the_password() -> None:
    register("postgresql://postgres:postgres@localhost/shop", "DATABASE_URL")
    assert redact("postgresql://postgres:postgres@localhost/shop") == "postgresql://postgres***localhost/shop"


def test_the_log_is_rid_of_passwords_inside_addresses_that_nobody_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEVER_READ_DSN", "postgresql://ann:never-read-one@db/shop")
    assert "never.read.one" in log_pattern().split("|")


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


@pytest.mark.parametrize(
    ("text", "password"),
    [
        ("Server=x;User Id=u;Password=abc Sesam1zz;Db=y", "abc Sesam1zz"),
        ("mysql:host=x;dbname=y;password=Kwyjibo2", "Kwyjibo2"),
        ("user:pw123456@host:5432/db", "pw123456"),
        ("postgresql://u:pa ssword1@h/db", "pa ssword1"),
        ("postgresql://u:12345678/9@h/db", "12345678/9"),
        ("h:6379,password=abcdef12,ssl=True", "abcdef12"),
        ("{Driver};UID=u;PWD=abcdef12", "abcdef12"),
        ("jdbc:mysql://address=(host=h)(user=u)(password=abcdef12)/db", "abcdef12"),
        ("https://x/y?sv=1&sig=abcdef12%3D", "abcdef12%3D"),
        ("https://ghp_token1234@github.com", "ghp_token1234"),
        ('{"user": "u", "password": "abcdef12"}', "abcdef12"),
    ],
)
def test_more_forms_of_connection_strings(text: str, password: str) -> None:
    register(text, "PLACE")
    assert password not in redact(f"cannot cast '{text}' to int")
    assert redact("orders of host x and user name") == "orders of host x and user name"


@pytest.mark.parametrize("name", ["AWSSECRETKEY", "DBPASS", "dbpwd", "OAUTH", "SSHKEY", "SESSIONCOOKIE", "KEYSTORE_PW"])
def test_names_written_together_look_secret_too(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["monkey", "turkey", "authors", "keyboard", "primary_key", "token_column", "PATH"])
def test_words_that_only_hold_such_letters_do_not(name: str) -> None:
    assert not looks_secret(name)
