"""Table functions of a project in FROM: their names, arguments and columns, and what models that call them are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import Built, build, table
from tidegate.compiler.compiled import FunctionRead

GAM = 'def gam_report(year, kind="all") -> "year int, clicks bigint":\n    return [{"year": 2024, "clicks": 1}]\n'
UDTF = """from pyspark.sql.functions import udtf

@udtf(returnType="a int, b string")
class pairs:
    def eval(self, count):
        for i in range(count):
            yield i, str(i)
"""
OPEN = "import pandas as pd\n\ndef things():\n    return pd.DataFrame({'x': [1]})\n"
CONSTANTS = "the arguments of gam_report must be constants: it is called before the query runs"
LIB = {"lib/gam_report.py": GAM, "lib/pairs.py": UDTF, "lib/things.py": OPEN, "lib/_helper.py": "x = 1"}


def project(root: Path, sql: str, **files: str) -> Built:
    return build(root, {**LIB, "models/silver/a.sql": sql, **files})


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("gam_report('2024')", (("year", "2024"),)),
        (r"GAM_REPORT('20\'24', 'x')", (("year", "20'24"), ("kind", "x"))),
        ("`gam_report`(-3)", (("year", -3),)),
        ("gam_report(kind => 'x', year => 1.5)", (("year", 1.5), ("kind", "x"))),
        ("gam_report(true, NULL)", (("year", True), ("kind", None))),
        ("gam_report('{{ 2000 + 24 }}') AS g(y, c)", (("year", "2024"),)),
    ],
)
def test_a_call_is_known_by_its_arguments(tmp_path: Path, call: str, arguments: tuple[tuple[str, object], ...]) -> None:
    built = project(tmp_path, f"select * from {call}")
    assert built.compiled.diagnostics == ()
    model = built.compiled.models[table("silver.a")]
    assert model.functions == (FunctionRead("gam_report", arguments),)  # type: ignore[arg-type]
    assert (model.depends_on, model.sources, model.deterministic) == ((), (), False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("gam_report()", "gam_report needs year"),
        ("gam_report(1, 2, 3)", "gam_report takes 1 to 2 arguments, and is given 3"),
        ("gam_report(yaer => 1)", "gam_report has no parameter 'yaer'"),
        ("gam_report(1, year => 2)", "gam_report is given year twice"),
        ("gam_report(upper('x'))", "the arguments of gam_report must be constants: it is called before the query runs"),
        (
            "gam_report(current_date())",
            "the arguments of gam_report must be constants: it is called before the query runs",
        ),
    ],
)
def test_a_wrong_call_is_reported_at_its_place(tmp_path: Path, call: str, message: str) -> None:
    found = [d for d in project(tmp_path, f"select * from {call}").compiled.diagnostics if d.code == "WrongArguments"]
    assert [(d.message, d.span.col if d.span else 0) for d in found] == [(message, 15)]


def test_its_columns_are_those_it_declares(tmp_path: Path) -> None:
    built = project(tmp_path, "select g.year + 1 as y, g.clicks, p.b from gam_report(1) g join pairs(3) p on p.a = 1")
    assert built.compiled.diagnostics == ()
    relation = built.compiled.models[table("silver.a")].relation
    assert [(c.name, str(c.type)) for c in relation.columns] == [("y", "int"), ("clicks", "bigint"), ("b", "string")]
    origins = {edge.origin for edge in built.compiled.models[table("silver.a")].edges}
    assert ("lib:gam_report", "clicks") in origins


def test_a_column_that_it_does_not_declare_is_unknown(tmp_path: Path) -> None:
    (found,) = project(tmp_path, "select clics from gam_report(1)").compiled.diagnostics
    assert (found.code, found.suggestion) == ("UnknownColumn", "did you mean clicks?")


def test_without_declared_columns_any_is_taken(tmp_path: Path) -> None:
    assert project(tmp_path, "select x, y from things()").compiled.diagnostics == ()


def test_an_unknown_function_is_told_with_what_is_near(tmp_path: Path) -> None:
    (found,) = project(tmp_path, "select * from gam_reprot(1)").compiled.diagnostics
    assert (found.code, found.suggestion) == ("UnknownFunction", "did you mean gam_report?")


def test_it_is_no_function_of_values(tmp_path: Path) -> None:
    found = project(tmp_path, "select gam_report(1) as x").compiled.diagnostics
    assert {d.code for d in found} == {"UnknownFunction"}


def test_the_bound_query_names_it_as_a_relation(tmp_path: Path) -> None:
    built = project(tmp_path, "select * from gam_report('2024', kind => 'x') g, things(), pairs(2) as p(c, d)")
    query = built.bind("silver.a")
    assert query.sql == "select * from `lib`.`gam_report` g, `lib`.`things`, `lib`.`pairs` as p(c, d)"
    assert [read.function.key for read in query.reads if read.function] == [
        "gam_report(year => '2024', kind => 'x')",
        "things()",
        "pairs(count => 2)",
    ]
    replaced = query.substitute(lambda read: f"v_{read.name}")
    assert replaced == "select * from v_gam_report g, v_things AS `things`, v_pairs as p(c, d)"


def test_a_call_in_an_ephemeral_model_is_one_of_its_readers(tmp_path: Path) -> None:
    inner = {"models/silver/within.sql": "-- @materialized: ephemeral\nselect year from gam_report(1)"}
    built = project(tmp_path, "select year from silver.within", **inner)
    assert [read.key for read in built.compiled.models[table("silver.a")].functions] == ["gam_report(year => 1)"]
    assert built.bind("silver.a").reads[0].function is not None


def test_a_changed_function_is_a_changed_model(tmp_path: Path) -> None:
    def fingerprint(root: Path, source: str) -> str:
        built = project(root, "select year from gam_report(1)", **{"lib/gam_report.py": source})
        return built.compiled.models[table("silver.a")].fingerprint

    first = fingerprint(tmp_path / "a", GAM)
    assert fingerprint(tmp_path / "b", "# a comment\n" + GAM) == first
    assert fingerprint(tmp_path / "c", GAM.replace('"clicks": 1', '"clicks": 2')) != first


def test_a_query_test_cannot_call_it(tmp_path: Path) -> None:
    test = {"models/silver/a/tests/quality/none.sql": "select * from gam_report(1)"}
    files = {**LIB, "models/silver/a/pipeline.sql": "select 1 as id", **test}
    assert [d.code for d in build(tmp_path, files).compiled.diagnostics] == ["MisplacedFunction"]


def test_code_of_a_function_is_checked(tmp_path: Path) -> None:
    bad = {"lib/things.py": "import os\n\ndef things():\n    return []\n"}
    (found,) = project(tmp_path / "a", "select 1 as id", **bad).compiled.diagnostics
    assert (found.code, found.span.file if found.span else "") == ("BlockedImport", "lib/things.py")
    trusted = {"tidegate.toml": '[project]\nname = "shop"\n[sandbox]\ntrusted = ["lib/*.py"]\n'}
    assert project(tmp_path / "b", "select 1 as id", **bad, **trusted).compiled.diagnostics == ()
