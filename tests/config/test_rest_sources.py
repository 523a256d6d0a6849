"""[sources.<name>] of kind rest: one form of credentials, from the environment, to an address that protects them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.config.test_settings import problems_of, settings_of
from tidegate.config import RestSource, Secret
from tidegate.config.rest_source import ApiKey, BasicAuth, BearerToken, ClientCredentials

HEAD = '[sources.api]\nkind = "rest"\nbase_url = "https://api.example.com/v1/"\n'
SECRET = "the-secret-of-tests"


@pytest.mark.parametrize(
    ("lines", "auth"),
    [
        ("", None),
        ('token = "${S}"', BearerToken(Secret(SECRET))),
        ('user = "me"\npassword = "${S}"', BasicAuth("me", Secret(SECRET))),
        ('api_key = "${S}"', ApiKey(Secret(SECRET), "X-API-Key", in_query=False)),
        ('api_key = "${S}"\napi_key_name = "k"\napi_key_in = "query"', ApiKey(Secret(SECRET), "k", in_query=True)),
        (
            'client_id = "me"\nclient_secret = "${S}"\ntoken_url = "https://a.example/token"\nscope = "read"',
            ClientCredentials("me", Secret(SECRET), "https://a.example/token", "read"),
        ),
    ],
)
def test_the_credentials_that_are_there_say_how_they_are_sent(lines: str, auth: object, tmp_path: Path) -> None:
    source = settings_of(tmp_path, f'{HEAD}{lines}\ntimeout = "5s"', S=SECRET).sources["api"]
    assert isinstance(source, RestSource)
    assert (source.base_url, source.auth, source.timeout) == ("https://api.example.com/v1", auth, timedelta(seconds=5))
    assert SECRET not in repr(source)


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ('kind = "rest"', "needs 'base_url'"),
        ('kind = "rest"\nbase_url = "api.example.com"', "'base_url' in [sources.api] must be an address"),
        ('kind = "rest"\nbase_url = "https://a.example:port"', "is not an address"),
        ('kind = "rest"\nbase_url = "https://me@a.example"', "must not hold a user or password"),
        ('kind = "rest"\nbase_url = "http://a.example"\ntoken = "${S}"', "must be https"),
        (f'{HEAD[14:]}token = "plain"', "'token' in [sources.api] must come from the environment"),
        (f'{HEAD[14:]}token = "${{S}}"\nuser = "me"\npassword = "${{S}}"', "two forms of authentication"),
        (f'{HEAD[14:]}user = "me"', "needs 'password'"),
        (f'{HEAD[14:]}api_key_name = "k"', "has a meaning only with 'api_key'"),
        (f'{HEAD[14:]}headers = {{ X-Auth-Token = "plain" }}', "must come from the environment"),
        (f'{HEAD[14:]}timeout = "10ms"', "must be 1s or more"),
        (f'{HEAD[14:]}base_ulr = "x"', "unknown key 'base_ulr'"),
    ],
)
def test_each_mistake_is_reported(toml: str, problem: str, tmp_path: Path) -> None:
    problems = problems_of(tmp_path, f"[sources.api]\n{toml}", S=SECRET)
    assert any(problem in line for line in problems), problems
    assert SECRET not in "".join(problems)
