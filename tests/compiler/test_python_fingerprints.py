"""The fingerprint of a Python model: its code, the packages that it imports, and the variables that it uses."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from tests.compiler.analysis.cases import CASES, Case, read_cases
from tests.compiler.projects import build, table
from tidegate.compiler import code_facts

BASE = '''# @owner: a
# A comment
import json


def model(tg):
    """A text."""
    x = tg.ref("bronze.a")
    return x.where("id > 3")
'''


def fingerprint(root: Path, code: str, variables: dict[str, object] | None = None, **more: str) -> str:
    trusted = '[project]\nname = "shop"\n[sandbox]\nmode = "trusted"\n'
    files = {"models/bronze/a.sql": "select 1 as id", "landing/z/": "", "tidegate.toml": trusted}
    built = build(root, {**files, "models/silver/x.py": code, **more}, variables=variables)
    assert built.compiled.errors == ()
    return built.compiled.models[table("silver.x")].fingerprint


@pytest.mark.parametrize(
    "same",
    [
        BASE.replace("# A comment", "# Another"),
        BASE.replace('"""A text."""\n', "# no text\n"),
        BASE.replace("\n", "\r\n"),
        BASE.replace('"id > 3"', "'id > 3'"),
        BASE.replace("x.where(", "(x\n        .where)("),
        BASE.replace("# @owner: a", "# @description: text\n# @tags: t"),
        BASE.replace("# @owner: a\n", "").replace("def", "@tg.model(owner='b', tags=['c'])\ndef"),
        '"""Of the file."""\n' + BASE,
    ],
)
def test_what_does_not_change_the_rows_does_not_count(tmp_path: Path, same: str) -> None:
    assert fingerprint(tmp_path / "1", same) == fingerprint(tmp_path / "2", BASE)


@pytest.mark.parametrize(
    "other",
    [
        BASE.replace("3", "4"),
        BASE.replace("import json", "import html"),
        BASE.replace("x =", "y =").replace("x.where", "y.where"),
        BASE.replace("# @owner", "# @partitioned_by: id\n# @owner"),
        BASE.replace("def", "@tg.model(on_empty='fail')\ndef"),
        BASE.replace("def", "@staticmethod\ndef"),
        BASE + "\nprint()",
    ],
)
def test_what_may_change_the_rows_counts(tmp_path: Path, other: str) -> None:
    assert fingerprint(tmp_path / "1", other) != fingerprint(tmp_path / "2", BASE)


@pytest.mark.parametrize("case", read_cases(CASES / "fingerprints" / "python.txt"), ids=lambda case: case.title)
def test_tables_of_an_earlier_version_stay_valid(tmp_path: Path, case: Case) -> None:
    """Another fingerprint rebuilds the tables of every user, and so must no other version of Python."""
    assert [f"= {fingerprint(tmp_path, case.sql)[:16]}"] == list(case.expected)


def test_another_version_of_a_package_counts_where_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"pandas": "1.0", "PyYAML": "6.0"}
    owners = {"yaml": ["PyYAML"]}
    monkeypatch.setattr(metadata, "version", lambda name: versions[name] if name in versions else _missing(name))
    monkeypatch.setattr(metadata, "packages_distributions", lambda: owners)
    code_facts.version_of_package.cache_clear()
    pandas, yaml = BASE.replace("json", "pandas.api"), BASE.replace("x =", "from yaml import x\n    x =", 1)
    codes = [BASE, pandas, yaml, BASE.replace("json", "nothing")]
    before = [fingerprint(tmp_path / f"{n}", code) for n, code in enumerate(codes)]
    versions |= {"pandas": "2.0", "PyYAML": "7.0"}
    code_facts.version_of_package.cache_clear()
    after = [fingerprint(tmp_path / f"{n}", code) for n, code in enumerate(codes)]
    code_facts.version_of_package.cache_clear()
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, False, True]


def _missing(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def test_the_variables_that_it_uses_count(tmp_path: Path) -> None:
    code = BASE.replace('"id > 3"', '"id > " + tg.var("least")')
    values = [{"least": 1}, {"least": 2}, {"least": 1, "other": 2}]
    one, other, same = (fingerprint(tmp_path / f"{n}", code, value) for n, value in enumerate(values))  # type: ignore[arg-type]
    assert one == same != other


def test_an_ephemeral_model_that_it_reads_counts(tmp_path: Path) -> None:
    code = BASE.replace("bronze.a", "bronze.e")
    files = ({"models/bronze/e.sql": f"-- @materialized: ephemeral\nselect {n} as id from bronze.a"} for n in (1, 2))
    one, other = (fingerprint(tmp_path / f"{n}", code, **more) for n, more in enumerate(files))
    assert one != other


def test_how_a_zone_is_read_counts(tmp_path: Path) -> None:
    codes = ("tg.landing_zone('z')", "tg.landing_zone('z', format='csv')", "tg.landing_zone('z', format='json')")
    found = {fingerprint(tmp_path / f"{n}", f"result = {code}") for n, code in enumerate(codes)}
    assert len(found) == 3
