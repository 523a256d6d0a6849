"""Every door through which SQL of a project or a person comes is closed before Spark: each statement, expression and
template of tests/cases/attacks is refused, and what only looks alike is not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.compiler.projects import build
from tidegate.compiler import bind_adhoc
from tidegate.compiler.analysis.functions.lookup import FUNCTIONS, REFUSED, WITH_OPTIONS
from tidegate.compiler.analysis.lexemes import lexemes
from tidegate.compiler.bind import bind
from tidegate.compiler.compiled import Diagnostic, RunValues
from tidegate.config import load_settings
from tidegate.contracts.stage_problems import read_stages
from tidegate.errors import QueryError
from tidegate.names import TableName

CASES = Path(__file__).parents[1] / "cases" / "attacks"
PLANTED = "planted-9f3c"
FINE = "models/gold/fine.sql"
"""What goes through the same door and is not refused, so that a refusal means something."""
ORDERS = "select 1L as id, 'a' as name"
TABLES = (TableName("shop", "silver", "orders"),)


def _blocks(name: str) -> list[str]:
    return [block.strip("\n") for block in (CASES / f"{name}.txt").read_text().split("\n---\n")]


def _lines(name: str) -> list[str]:
    return (CASES / f"{name}.txt").read_text().splitlines()


EXPRESSIONS = _lines("expressions")
STATEMENTS = _blocks("statements") + [f"SELECT id, {text} AS x FROM silver.orders" for text in EXPRESSIONS]


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "outside" / "secret.txt"
    file.parent.mkdir()
    file.write_text(PLANTED)
    monkeypatch.setenv("PLANTED", PLANTED)
    return file


def _filled(text: str, secret: Path) -> str:
    return text.replace("{secret}", str(secret)).replace("{out}", str(secret.parent / "out"))


def _wrong(root: Path, files: Mapping[str, str]) -> dict[str, list[Diagnostic]]:
    """Errors by file."""
    toml = "[project]\nname = 'shop'\n[vars]\nplanted_sql = \"reflect('java.lang.System', 'getenv', 'PLANTED')\"\n"
    compiled = build(root / "project", {"tidegate.toml": toml, "models/silver/orders.sql": ORDERS, **files}).compiled
    found: dict[str, list[Diagnostic]] = {}
    for error in compiled.errors:
        assert error.span is not None
        found.setdefault(error.span.file, []).append(error)
    assert FINE not in found
    return found


def _nothing_got_out(secret: Path, told: object) -> None:
    assert PLANTED not in repr(told)
    assert [file.name for file in secret.parent.iterdir()] == ["secret.txt"]


def test_the_corpus_is_large() -> None:
    assert len(STATEMENTS) + len(_lines("templates")) > 250


def test_sql_is_closed(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n[spark]\nallow_code = true\n')
    settings = load_settings(tmp_path)
    passed, messages = [], []
    for statement in STATEMENTS:
        try:
            passed.append(bind_adhoc(_filled(statement, secret), settings, TABLES).sql)
        except QueryError as error:
            messages.append(str(error))
    assert passed == []
    _nothing_got_out(secret, messages)


def test_models_are_closed(tmp_path: Path, secret: Path) -> None:
    files = {f"models/gold/m{n}.sql": _filled(text, secret) for n, text in enumerate(STATEMENTS)}
    wrong = _wrong(tmp_path, {**files, FINE: "select id, upper(name) as n from silver.orders"})
    assert [files[name] for name in files if name not in wrong] == []
    _nothing_got_out(secret, wrong)


def test_quality_tests_are_closed(tmp_path: Path, secret: Path) -> None:
    files = {f"models/gold/a/tests/quality/t{n}.sql": _filled(text, secret) for n, text in enumerate(STATEMENTS)}
    fine = {"models/gold/a/pipeline.sql": ORDERS, "models/gold/a/tests/quality/fine.sql": "select * from gold.a"}
    wrong = _wrong(tmp_path, {**fine, **files})
    assert wrong.keys().isdisjoint(fine)
    assert [files[name] for name in files if name not in wrong] == []
    _nothing_got_out(secret, wrong)


@pytest.mark.parametrize("place", ["given", "expect"])
def test_rows_of_unit_tests_are_closed(tmp_path: Path, secret: Path, place: str) -> None:
    plain = [{"id": 1}]
    files = {}
    for number, statement in enumerate(STATEMENTS):
        rows = {"sql": _filled(statement, secret)}
        given, expect = (rows, plain) if place == "given" else (plain, rows)
        test = {"name": "t", "model": "gold.a", "given": {"silver.orders": given}, "expect": expect}
        files[f"tests/t{number}.yaml"] = json.dumps({"tests": [{**test, "name": f"t{number}"}]})
    fine = {
        "name": "fine",
        "model": "gold.a",
        "given": {"silver.orders": {"sql": "VALUES (1) AS t(id)"}},
        "expect": plain,
    }
    files["tests/fine.yaml"] = json.dumps({"tests": [fine]})
    wrong = _wrong(tmp_path, {"models/gold/a.sql": "select id from silver.orders", **files})
    assert files.pop("tests/fine.yaml")
    assert "tests/fine.yaml" not in wrong
    assert [files[name] for name in files if name not in wrong] == []
    _nothing_got_out(secret, wrong)


def test_conditions_of_checks_are_closed(tmp_path: Path, secret: Path) -> None:
    files: dict[str, str] = {}
    for number, expression in enumerate(EXPRESSIONS):
        text = _filled(expression, secret)
        files[f"models/gold/plain{number}.sql"] = f"-- @constraint: check(x, {text} IS NOT NULL)\n{ORDERS}"
        files[f"models/gold/quoted{number}.sql"] = (
            f"-- @constraint: check(x, '{text.replace(chr(39), chr(39) * 2)} = 1')\n{ORDERS}"
        )
    fine = {FINE: f"-- @constraint: check(x, upper(name) IS NOT NULL)\n{ORDERS}"}
    wrong = _wrong(tmp_path, {**files, **fine})
    assert [text for name, text in files.items() if name not in wrong] == []
    _nothing_got_out(secret, wrong)


def test_checks_in_settings_files_are_closed(tmp_path: Path, secret: Path) -> None:
    sidecars: dict[str, str] = {}
    files: dict[str, str] = {}
    for number, expression in enumerate(EXPRESSIONS):
        text = json.dumps(f"{_filled(expression, secret)} IS NOT NULL", ensure_ascii=False)
        files[f"models/gold/s{number}.sql"] = ORDERS
        sidecars[f"models/gold/s{number}.toml"] = f'[[checks]]\ntype = "expression"\nexpression = {text}\n'
    fine = {FINE: ORDERS, FINE.replace(".sql", ".toml"): '[[checks]]\ntype = "expression"\nexpression = "id > 0"\n'}
    wrong = _wrong(tmp_path, {**files, **sidecars, **fine})
    assert [text for name, text in sidecars.items() if name not in wrong] == []
    _nothing_got_out(secret, wrong)


def test_own_checks_are_closed(tmp_path: Path, secret: Path) -> None:
    files = {}
    for number, expression in enumerate(EXPRESSIONS):
        text = _filled(expression, secret)
        files[f"checks/row{number}.sql"] = f"-- @params: column\n{{column}} IS NOT NULL AND {text} IS NOT NULL"
        files[f"checks/query{number}.sql"] = f"-- @kind: query\nSELECT id FROM {{table}} WHERE {text} IS NOT NULL"
    calls = [f"row{n}(id)" for n in range(len(EXPRESSIONS))] + [f"query{n}()" for n in range(len(EXPRESSIONS))]
    models = {f"models/gold/c{n}.sql": f"-- @constraint: {call}\n{ORDERS}" for n, call in enumerate(calls)}
    fine = {
        "checks/fine.sql": "-- @params: column\n{column} IS NOT NULL AND upper('a') IS NOT NULL",
        "checks/asks.sql": "-- @kind: query\nSELECT id FROM {table} WHERE upper('a') IS NULL",
        FINE: f"-- @constraint: fine(id)\n-- @constraint: asks()\n{ORDERS}",
    }
    wrong = _wrong(tmp_path, {**files, **models, **fine})
    closed = set(wrong) | {f"models/gold/c{calls.index(call)}.sql" for call in calls if _file(call) in wrong}
    assert [text for name, text in models.items() if name not in closed] == []
    _nothing_got_out(secret, wrong)


def _file(call: str) -> str:
    return f"checks/{call.partition('(')[0]}.sql"


def test_masks_are_closed(tmp_path: Path, secret: Path) -> None:
    masks = {f"masks/m{n}.sql": f"concat({{column}}, {_filled(text, secret)})" for n, text in enumerate(EXPRESSIONS)}
    models = {f"models/gold/a{n}.sql": f"-- @column: name: [m{n}]\n{ORDERS}" for n in range(len(EXPRESSIONS))}
    fine = {"masks/fine.sql": "concat({column}, upper('a'))", FINE: f"-- @column: name: [fine]\n{ORDERS}"}
    wrong = _wrong(tmp_path, {**masks, **models, **fine})
    assert [masks[f"masks/m{n}.sql"] for n in range(len(EXPRESSIONS)) if f"models/gold/a{n}.sql" not in wrong] == []
    _nothing_got_out(secret, wrong)


def test_contracts_are_closed(tmp_path: Path, secret: Path) -> None:
    """What its own rules do not refuse as no SQL is refused once its models are compiled."""
    base = (CASES.parent / "contracts" / "orders.odcs.yml").read_text("utf-8")
    rules = [_filled(text, secret) for text in (*STATEMENTS, *(f"{text} IS NOT NULL" for text in EXPRESSIONS))]
    logic = [_filled(text, secret) for text in EXPRESSIONS]
    rules = [rule for rule in rules if not _is_refused(base + _rules([rule]))]
    logic = [text for text in logic if not _is_refused(base + _columns([text]))]
    assert min(len(rules), len(logic)) > 50
    fine = _rules(["amount < 0", "SELECT count(*) FROM ${object}"])
    text = base + _columns(["upper(state)", *logic]) + fine + "".join(_rules(rules).splitlines(True)[1:])
    wrong = _wrong(tmp_path, {"landing/orders/": "", "contracts/orders.odcs.yml": text})["contracts/orders.odcs.yml"]
    lines = {error.span.line for error in wrong if error.span is not None}
    written = dict(enumerate(text.splitlines(), 1))
    assert not [line for number, line in written.items() if json.dumps("amount < 0") in line and number in lines]
    asks = [number for number, line in written.items() if "query" in line or "transformLogic" in line]
    own = [number for number in asks if any(json.dumps(text) in written[number] for text in (*rules, *logic))]
    assert [written[number] for number in own if number not in lines] == []
    _nothing_got_out(secret, wrong)


def _rules(queries: Sequence[str]) -> str:
    rules = (f"      - {{type: sql, mustBe: 0, query: {json.dumps(query)}}}\n" for query in queries)
    return f"    quality:\n{''.join(rules)}"


def _columns(logic: Sequence[str]) -> str:
    """More columns of the object at the end of the contract."""
    columns = (
        f"      - {{name: c{number}, logicalType: string, transformLogic: {json.dumps(text)}}}\n"
        for number, text in enumerate(logic)
    )
    return "".join(columns)


def _is_refused(contract: str) -> bool:
    return bool(read_stages(contract, "orders.odcs.yml").problems)


def test_templates_are_closed(tmp_path: Path, secret: Path) -> None:
    files = {f"models/gold/t{n}.sql": _filled(text, secret) for n, text in enumerate(_lines("templates"))}
    fine = {FINE: "select {{ var('x', '1') }} as x, '{{ env_var('PATH', '') }}' as y from {{ ref('silver.orders') }}"}
    wrong = _wrong(tmp_path, {**files, **fine})
    assert [files[name] for name in files if name not in wrong] == []
    _nothing_got_out(secret, wrong)


@pytest.mark.parametrize("template", _lines("empty_templates"))
def test_what_a_template_may_not_see_is_undefined(tmp_path: Path, template: str) -> None:
    text = build(tmp_path, {"models/silver/x.sql": template}).bind("silver.x").sql
    assert "Undefined" in text
    assert "environ" not in text


def test_a_run_whose_values_give_other_sql_is_closed(tmp_path: Path) -> None:
    files = {"models/silver/orders.sql": ORDERS, "models/gold/a.sql": "select {{ var('x', '1') }} as x"}
    built = build(tmp_path, {"tidegate.toml": "[project]\nname = 'shop'\n", **files})
    assert built.compiled.errors == ()
    values = RunValues("2026-01-01", vars={"x": "reflect('java.lang.System', 'getenv', 'PLANTED')"})
    with pytest.raises(QueryError, match="reflect runs code"):
        bind(built.compiled, TableName("shop", "gold", "a"), values)


@pytest.mark.parametrize("statement", _blocks("harmless"))
def test_what_is_harmless_is_not_refused(tmp_path: Path, statement: str) -> None:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    assert bind_adhoc(statement, load_settings(tmp_path), TABLES).sql


def test_only_models_may_run_code_and_only_where_it_is_allowed(tmp_path: Path) -> None:
    toml = "[project]\nname = 'shop'\n[spark]\nallow_code = true\n"
    attack = (
        "select reflect('java.lang.System', 'getenv', 'HOME') as x, transform(array(1), x -> x) as y from silver.orders"
    )
    script = "select transform(id) using 'cat' as (x string) from silver.orders"
    files = {
        "tidegate.toml": toml,
        "models/gold/a/pipeline.sql": attack,
        "models/gold/b.sql": script,
        "models/gold/a/tests/quality/t.sql": attack,
    }
    wrong = _wrong(tmp_path, files)
    assert {name: [error.code for error in errors] for name, errors in wrong.items()} == {
        "models/gold/a/tests/quality/t.sql": ["CodeInQuery"]
    }


def test_every_refused_function_is_one_of_sparks() -> None:
    """So that every function of Spark is either on the list, or refused for a reason (that the list is Spark's own is
    asked of Spark in test_types_agree_with_spark)."""
    assert set(REFUSED) | set(WITH_OPTIONS) <= set(FUNCTIONS)


def test_the_words_of_a_text_are_found_as_spark_finds_them() -> None:
    found = lexemes("a /* /* b */ c */ d -- \\\ne\nf 'g''h' r'\\' `i``j`")
    assert isinstance(found, list)
    assert [piece.text for piece in found] == ["a", "d", "f", "'g'", "'h'", "r'\\'", "`i``j`"]
    assert lexemes("a /* /* b */ c") == 2
    assert lexemes("s3://a") == 0
