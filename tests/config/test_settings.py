from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config import LintsSection, Settings, ZoneSettings, find_project, load_settings
from tidegate.config.toml_lines import line_of
from tidegate.errors import ConfigError


def settings_of(root: Path, text: str, **env: str) -> Settings:
    (root / "tidegate.toml").write_bytes(text.encode())
    return load_settings(root, env=env)


def problems_of(root: Path, text: str, **env: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings_of(root, text, **env)
    return list(caught.value.problems)


def test_an_empty_file_is_a_project_on_one_machine(tmp_path: Path) -> None:
    root = tmp_path / "my-shop 2"
    root.mkdir()
    settings = settings_of(root, "")
    assert settings.project.name == "my-shop 2"
    assert settings.project.namespace == "my_shop_2"
    assert settings.lake.warehouse == root / ".tidegate/warehouse"
    assert settings.lake.catalog_path == root / ".tidegate/catalog.db"
    assert settings.state.url == f"sqlite:///{root}/.tidegate/state.db"
    assert settings.landing.root == root / "landing"
    assert (settings.contracts.location, settings.contracts.files_root) == (root / "contracts", root)
    assert settings.run.publish == "run"


def test_every_section_is_read(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
[project]
name = "shop"
namespace = "sales"
[lake]
warehouse = "file:///data/ware%20house"
catalog_path = "cat.db"
[spark]
master = "local[2]"
memory = "800m"
[spark.conf]
spark.sql.shuffle.partitions = 8
"spark.sql.ansi.enabled" = false
[state]
url = "sqlite:///hist.db"
[run]
publish = "wave"
concurrency = "${CORES:-3}"
test_timeout = "90s"
[landing]
root = "${WHERE}/in"
[landing.orders]
format = "csv"
header = true
delimiter = ";"
columns = { id = "bigint", "the name" = "string" }
[maintenance]
keep_days = 3
[defaults]
owner = "data"
[vars]
country = "${COUNTRY:-SE}"
""",
        WHERE="/data",
    )
    assert settings.project.namespace == "sales"
    assert settings.lake.warehouse == Path("/data/ware house")
    assert settings.lake.catalog_path == tmp_path / "cat.db"
    assert settings.spark.conf == {"spark.sql.shuffle.partitions": "8", "spark.sql.ansi.enabled": "false"}
    assert settings.state.url == f"sqlite:///{tmp_path}/hist.db"
    assert (settings.run.publish, settings.run.concurrency) == ("wave", 3)
    assert settings.run.test_timeout == timedelta(seconds=90)
    assert settings.landing.root == Path("/data/in")
    assert settings.landing.zones["orders"].columns == {"id": "bigint", "the name": "string"}
    assert settings.maintenance.keep_days == 3
    assert settings.defaults == {"owner": "data"}
    assert settings.vars == {"country": "SE"}


def test_all_problems_come_together_each_with_its_line(tmp_path: Path) -> None:
    text = """[project]
nmae = "x"
namespace = "run_1"
[lake]
warehouse = "s3a://bucket/x"
format = "delta"
catalog = "nessie"
[spark]
memory = "lots"
remote = "sc://host"
[state]
url = "mysql://x/y"
[run]
publish = "wav"
concurrency = 0
test_timeout = "soon"
[landing]
root = "${NOT_SET}"
rot = "x"
[landing.orders]
format = "xlsx"
[maintenance]
sweep_min_age_hours = 1
[server]
port = 1
[maintenence]
"""
    found = problems_of(tmp_path, text)
    assert [problem.split(":")[1] for problem in found] == [
        *("2", "3", "5", "6", "7", "9", "10", "12", "14", "15", "16", "18", "19", "21", "23", "24", "26")
    ]
    assert found[0] == "tidegate.toml:2: unknown key 'nmae' in [project]; did you mean 'name'?"
    assert "not supported by this version" in found[-2]
    assert "did you mean [maintenance]?" in found[-1]


def test_broken_toml_says_the_line(tmp_path: Path) -> None:
    assert problems_of(tmp_path, '[project]\nname = "x\n')[0].startswith("tidegate.toml:2: not valid TOML")
    assert problems_of(tmp_path, "a = [\n1,\n")[0].startswith("tidegate.toml:3: not valid TOML")


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        (
            "[vars]\na = 1\n[vars]\n",
            "3: not valid TOML: [vars] is there twice",
            "write all settings of [vars] under one",
        ),
        ("[lake.a]\n[lake.a]\n", "2: not valid TOML: [lake.a] is there twice", "write all settings of [lake.a] under"),
        ("a = 1\na = 2\n", "2: not valid TOML: a key is there twice", "keep one of the two lines"),
        ("[a.b]\n[a]\nb.c = 1\n", "3: not valid TOML: 'a.b' is written in two places", "write it in one place"),
    ],
)
def test_what_is_there_twice_is_named(tmp_path: Path, text: str, problem: str, remedy: str) -> None:
    (tmp_path / "tidegate.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path)
    assert caught.value.problems[0].startswith(f"tidegate.toml:{problem}")
    assert str(caught.value.remedy).startswith(remedy)


def test_text_that_is_not_utf8_says_the_line(tmp_path: Path) -> None:
    (tmp_path / "tidegate.toml").write_bytes(b'[project]\nname = "\xff"\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path)
    assert caught.value.problems == ("tidegate.toml:2: the file is not UTF-8 text",)
    assert caught.value.remedy == "save the file as UTF-8"


def test_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    assert settings_of(tmp_path, '\ufeff[project]\r\nname = "shop"\r\n').project.name == "shop"


def test_a_missing_project_names_both_ways_out(tmp_path: Path) -> None:
    for attempt in (lambda: find_project(tmp_path), lambda: load_settings(tmp_path)):
        with pytest.raises(ConfigError) as caught:
            attempt()
        assert "tidegate init DIR" in str(caught.value.remedy)
        assert "--project DIR" in str(caught.value.remedy)


def test_a_project_is_found_from_a_folder_inside_it(tmp_path: Path) -> None:
    (tmp_path / "tidegate.toml").touch()
    inside = tmp_path / "models" / "silver"
    inside.mkdir(parents=True)
    assert find_project(inside) == tmp_path


def test_another_file_may_be_named(tmp_path: Path) -> None:
    other = tmp_path / "conf" / "prod.toml"
    other.parent.mkdir()
    other.write_text('[lake]\nwarehouse = "wh"\n')
    assert load_settings(tmp_path, other).lake.warehouse == tmp_path / "wh"


def test_a_dollar_sign_can_be_escaped(tmp_path: Path) -> None:
    assert settings_of(tmp_path, '[vars]\na = "$${X} costs 3$"').vars == {"a": "${X} costs 3$"}
    assert "1: '${'" in problems_of(tmp_path, 'vars.a = "${not closed"')[0]


def test_a_namespace_is_never_taken_for_a_catalog(tmp_path: Path) -> None:
    for name in ("main", "run_1", "Spark_Catalog"):
        assert problems_of(tmp_path, f'[project]\nnamespace = "{name}"')
    assert settings_of(tmp_path, '[project]\nname = "main"').project.namespace == "lake_main"
    assert settings_of(tmp_path, '[project]\nname = "💧"').project.namespace == "default"


KEYS = st.text("abcdefg", min_size=1, max_size=3)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, st.integers(0, 9), min_size=1), min_size=1), st.data())
def test_the_line_of_a_key_is_found(tables: dict[str, dict[str, int]], data: st.DataObject) -> None:
    lines, places = [], {}
    for table, keys in tables.items():
        lines += ["# a comment", f"[{table}]", 'text = """', "a = [ not a key", '"""', "list = [", "  1,", "]"]
        for key, value in keys.items():
            lines.append(f"{key} = {value}")
            places[table, key] = len(lines)
    path = data.draw(st.sampled_from(sorted(places)))
    assert line_of("\n".join(lines), path) == places[path]


def test_lints_have_levels(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "").lints == LintsSection(blast_radius="info", freshness_coverage="off")
    lints = settings_of(tmp_path, '[lints]\nblast_radius = "error"\nfreshness_coverage = "${LEVEL}"\n', LEVEL="warning")
    assert lints.lints == LintsSection("error", "warning")


def test_a_level_or_lint_that_does_not_exist_is_told_with_the_nearest(tmp_path: Path) -> None:
    assert problems_of(tmp_path, '[lints]\nblast_radius = "warn"\nfreshnes_coverage = "off"\n') == [
        "tidegate.toml:2: 'blast_radius' in [lints] must be one of off, info, warning, error, not 'warn'",
        "tidegate.toml:3: unknown key 'freshnes_coverage' in [lints]; did you mean 'freshness_coverage'?",
    ]


@pytest.mark.parametrize("key", ZoneSettings.OF_CONTRACTS)
def test_what_contracts_set_is_no_key_of_a_zone(tmp_path: Path, key: str) -> None:
    (problem,) = problems_of(tmp_path, f"[landing.z]\n{key} = true\n")
    assert f"unknown key '{key}'" in problem
