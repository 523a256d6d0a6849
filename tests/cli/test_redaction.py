"""A value of a secret-looking name is on no screen, in no document and in no traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.calling import Call

PLANTED = "planted-5b1e9d"


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("API_TOKEN", PLANTED)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _model(project: Path, text: str) -> None:
    file = project / "models" / "silver" / "a.sql"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("options", [(), ("--json",), ("--debug",)])
@pytest.mark.parametrize(
    "text",
    [
        "select 2 as `{{ env_var('API_TOKEN') }}`, 1 as `{{ env_var('API_TOKEN') }}`",
        "select 1 as x from `{{ env_var('API_TOKEN') }}`.`{{ env_var('API_TOKEN') }}`",
        "select `{{ env_var('API_TOKEN') }}` as x from (select 1 as y)",
        "select `{{ var('api_token') }}` as x from (select 1 as y)",
        "{% set x = env_var('API_TOKEN') %}{{ ref(x ~ x ~ '.b.c.d.e') }}",
    ],
)
def test_an_error_that_quotes_the_sql(tidegate: Call, project: Path, text: str, options: tuple[str, ...]) -> None:
    _model(project, text)
    with (project / "tidegate.toml").open("a") as settings:
        settings.write('[vars]\napi_token = ""\n')
    found = tidegate("compile", "--var", f"api_token=v{PLANTED}", *options)
    assert found.code != 0
    assert PLANTED not in found.out + found.err
    assert "***" in found.out + found.err


@pytest.mark.parametrize("options", [(), ("--json",), ("--debug",)])
def test_an_error_that_quotes_a_setting(tidegate: Call, project: Path, options: tuple[str, ...]) -> None:
    toml = '[project]\nname = "shop"\n[run]\npublish = "${API_TOKEN}"\nconcurrency = "${API_TOKEN}"\n'
    (project / "tidegate.toml").write_text(toml)
    found = tidegate("compile", *options)
    assert found.code != 0
    assert PLANTED not in found.out + found.err
    assert "***" in found.out + found.err


def test_no_cache_holds_it(tidegate: Call, project: Path, tmp_path: Path) -> None:
    _model(project, "select 'x' as y where 'a' <> '{{ env_var('API_TOKEN') }}'")
    (project / "models" / "silver" / "b.sql").write_text("select 1 as other")
    assert tidegate("compile").code == 0
    held = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(tmp_path)
        for name in names
        if PLANTED.encode() in Path(folder, name).read_bytes()
    ]
    assert held == []
    caches = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert any(b"b.sql" in file.read_bytes() for file in caches)


def test_what_does_not_look_secret_is_shown(tidegate: Call, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGION", "eu-north-7")
    _model(project, "select `{{ env_var('REGION') }}` as x from (select 1 as y)")
    found = tidegate("compile")
    assert "eu-north-7" in found.out + found.err


@pytest.mark.parametrize("options", [(), ("--json",), ("--debug",)])
def test_a_password_inside_an_address_is_on_no_screen(
    tidegate: Call, project: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_URL", "postgresql://ann:planted%2Dinside@db/shop")
    _model(project, "select `{{ env_var('SHOP_URL') }}` as x, `planted-inside` as y from (select 1 as y)")
    found = tidegate("compile", *options)
    assert found.code != 0
    assert "planted-inside" not in found.out + found.err
    assert "planted%2Dinside" not in found.out + found.err
    assert "ann:***@db/shop" in found.out + found.err
