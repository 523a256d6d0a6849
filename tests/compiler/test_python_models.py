"""Python models: what the compiler knows of them without running them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import Built, build, table, write_project
from tidegate.compiler import Compiled, RunValues, compile_project
from tidegate.compiler.bind_python import bind_python
from tidegate.compiler.changes.interface_changes import change_diagnostics, compare
from tidegate.compiler.changes.interfaces import interfaces
from tidegate.compiler.compile_cache import CompileCache
from tidegate.compiler.compiled import CodeReads, Span
from tidegate.compiler.hidden_columns import hidden_in_query, hidden_in_table, touches_hidden_columns
from tidegate.compiler.python_call import PythonCall
from tidegate.config import load_settings
from tidegate.project import load_project

STRATEGIES = ("incremental", "delete_insert")
FILES = {
    "models/bronze/a.sql": "select 1 as id, 'x' as email",
    "models/bronze/b.sql": "select 1 as id",
    "models/bronze/v.sql": "-- @materialized: view\nselect id from bronze.b",
    "models/bronze/e.sql": "-- @materialized: ephemeral\nselect id from bronze.b",
    "landing/z/": "",
}
MERGE = "# @merge_strategy: incremental\n# @unique_key: id\n\n"


def built_with(root: Path, code: str, **more: str) -> Built:
    built = build(root, {**FILES, "models/silver/m.py": code, **more})
    assert built.compiled.errors == ()
    return built


def reads_of(root: Path, body: str) -> CodeReads:
    code = built_with(root, f"{MERGE}def model(tg):\n    return {body}\n").compiled.models[table("silver.m")].code
    assert code is not None
    return code


def call_of(built: Built) -> PythonCall:
    return bind_python(built.compiled, table("silver.m"), RunValues("2026-01-02T03:04:05+00:00", vars={"b": 2}))


@pytest.mark.parametrize(
    ("body", "refs", "changes"),
    [
        ("tg.ref('bronze.a')", ["bronze.a"], []),
        ("tg.ref('Bronze.A').union(tg.ref('shop.bronze.b'))", ["bronze.a", "bronze.b"], []),
        ("tg.changes('bronze.a').join(tg.ref('bronze.a'))", ["bronze.a"], ["bronze.a"]),
        ("tg.sql('WITH x AS (SELECT * FROM bronze.a) SELECT * FROM x JOIN bronze.v')", ["bronze.a", "bronze.v"], []),
        ("tg.sql(query='SELECT * FROM `bronze`.`b`')", ["bronze.b"], []),
        ("tg.ref('silver.m')", ["silver.m"], []),
        ("rows('bronze.a') # tg.ref('bronze.b')", [], []),
        ("'tg.ref(\\'bronze.b\\')'", [], []),
    ],
)
def test_what_it_reads_is_in_its_code(tmp_path: Path, body: str, refs: list[str], changes: list[str]) -> None:
    code = reads_of(tmp_path, body)
    assert [t.short("shop") for t in code.refs] == refs
    assert [t.short("shop") for t in code.changes] == changes


def test_tg_is_known_by_other_names(tmp_path: Path) -> None:
    code = """
from tidegate import tg as gate

def load(source, name):
    return source.ref("bronze.a")

def model(given):
    other = given
    return load(gate, "x").union(other.ref("bronze.b"))
"""
    model = built_with(tmp_path, code).compiled.models[table("silver.m")]
    assert model.depends_on == (table("bronze.a"), table("bronze.b"))


def test_tables_are_read_whole_unless_only_their_changes_are(tmp_path: Path) -> None:
    code = reads_of(tmp_path, "tg.changes('bronze.a').join(tg.ref('bronze.e'))")
    assert code.whole == (table("bronze.b"),)


def test_its_inputs_are_queries_under_the_names_that_the_code_asks_for(tmp_path: Path) -> None:
    body = "tg.changes('bronze.a').join(tg.ref('Bronze.e')).join(tg.landing_zone('z')).join(tg.this())"
    toml = '[project]\nname = "shop"\n[vars]\na = 1\nb = 1\n'
    built = built_with(tmp_path, f"{MERGE}def model(tg):\n    return {body}\n", **{"tidegate.toml": toml})
    call = call_of(built)
    assert {i.handle: i.query.sql for i in call.inputs} == {
        "ref shop.bronze.e": "SELECT * FROM (select id from `shop`.`bronze`.`b`) AS `e`",
        "changes shop.bronze.a": "SELECT * FROM `shop`.`bronze`.`a`",
        "landing_zone z": "SELECT * FROM `landing`.`z`",
        "this": "SELECT * FROM `shop`.`silver`.`m`",
    }
    for given in call.inputs:
        (read,) = given.query.reads
        assert given.query.sql[read.start : read.end].strip("`")
        assert (read.table is None) == (read.landing is not None)
    assert call.file == "models/silver/m.py"
    assert call.values.vars == {"a": 1, "b": 2}
    assert call.strategy == "incremental"


def test_computed_names_are_among_those_of_depends_on(tmp_path: Path) -> None:
    code = "# @depends_on: bronze.a, bronze.v\n\ndef model(tg):\n    return tg.ref(tg.var('name', 'bronze.a'))\n"
    call = call_of(built_with(tmp_path, code))
    assert [given.handle for given in call.inputs] == ["ref shop.bronze.a", "ref shop.bronze.v"]


def test_depends_on_alone_gives_the_code_nothing(tmp_path: Path) -> None:
    built = built_with(tmp_path, "# @depends_on: bronze.a\nresult = tg.ref('bronze.b')")
    assert [given.handle for given in call_of(built).inputs] == ["ref shop.bronze.b"]
    assert built.compiled.models[table("silver.m")].depends_on == (table("bronze.a"), table("bronze.b"))


def test_it_is_built_after_what_it_reads_and_before_its_readers(tmp_path: Path) -> None:
    readers = {"models/gold/g.sql": "select whatever from silver.m", "models/gold/h.py": "result = tg.ref('gold.g')"}
    waves = built_with(tmp_path, "result = tg.ref('bronze.b')", **readers).compiled.waves
    at = {name: number for number, wave in enumerate(waves) for name in wave}
    order = [at[table(name)] for name in ("bronze.b", "silver.m", "gold.g", "gold.h")]
    assert order == sorted(set(order))


@pytest.mark.parametrize(
    ("code", "place", "fix"),
    [
        ("def model(tg):\n    return tg.ref('bronze.aa')", (2, 12), "did you mean bronze.a"),
        ("def model(tg):\n    return tg.sql('''SELECT 1\nFROM bronze.aa''')", (3, 6), "did you mean bronze.a"),
        ("def model(tg):\n    return tg.ref('a')", (2, 12), "did you mean bronze.a?"),
        ("def model(tg):\n    return tg.landing_zone('zz')", (2, 12), "did you mean z?"),
        ("# @depends_on: bronze.aa\nresult = tg.this()", (1, 3), "did you mean bronze.a"),
        ("# @uniqe_key: id\nresult = tg.this()", (1, 3), "did you mean @unique_key?"),
        ("result = tg.this()\n# @unique_key: id", (2, 3), "comment block at the top"),
        ("# @unique_key id\nresult = tg.this()", (1, 3), "write # @unique_key: value"),
        ("# @ unique_key: id\nresult = tg.this()", (1, 3), "write # @unique_key: id"),
        ("# @kind: merge\nresult = tg.this()", (1, 3), "add # @unique_key: …"),
        ("@tg.model(uniqe_key='id')\ndef model(tg):\n    return tg.this()", (1, 11), "did you mean unique_key?"),
        ("@tg.model(kind='merg')\ndef model(tg):\n    return tg.this()", (1, 11), None),
        ("@tg.model(tags=list('ab'))\ndef model(tg):\n    return tg.this()", (1, 11), "comment block at the top"),
        ("@tg.model(**{})\ndef model(tg):\n    return tg.this()", (1, 11), "comment block at the top"),
        ("@tg.model('incremental')\ndef model(tg):\n    return tg.this()", (1, 11), "merge_strategy="),
        ("result = tg.landing_zone('z', format='cvs')", (1, 10), None),
    ],
)
def test_mistakes_are_reported_at_their_place(
    tmp_path: Path, code: str, place: tuple[int, int], fix: str | None
) -> None:
    built = build(tmp_path, {**FILES, "models/silver/m.py": code})
    (error,) = (d for d in built.compiled.errors if not d.code.startswith("Blocked"))
    assert error.span is not None
    assert (error.span.file, error.span.line, error.span.col) == ("models/silver/m.py", *place)
    assert (fix or "") in (error.suggestion or "")


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT idd FROM bronze.a", ["UnknownColumn 2"]),
        ("""SELECT\n  id\nFROM bronze.a\nWHERE id + 'x' > 3 AND nothing""", ["UnknownColumn 5"]),
        ("SELECT id, id FROM bronze.a", []),
        ("SELECT whatever FROM silver.other", []),
        ("SELECT nosuch(id) FROM bronze.a", ["UnknownFunction 2"]),
        ("DELETE FROM bronze.a", ["NotAQuery 2"]),
        ("SELECT * FROM bronze.a; SELECT 1", ["MultipleStatements 2"]),
        ("SELECT id FROM", ["SqlSyntax 2"]),
        ("SELECT * FROM csv.`/etc/passwd`", ["UnknownDependency 2"]),
    ],
)
def test_its_sql_is_compiled(tmp_path: Path, sql: str, found: list[str]) -> None:
    code = f'def model(tg):\n    return tg.sql("""{sql}""")\n'
    built = build(
        tmp_path, {**FILES, "models/silver/m.py": code, "models/silver/other.py": "result = tg.ref('bronze.a')"}
    )
    errors = [d for d in built.compiled.errors if not d.code.startswith("Blocked")]
    assert [f"{d.code} {d.span.line if d.span else 0}" for d in errors] == found


def test_models_that_read_each_other_are_found(tmp_path: Path) -> None:
    built = build(tmp_path, {"models/a/x.py": "result = tg.ref('a.y')", "models/a/y.sql": "select * from a.x"})
    assert [d.code for d in built.compiled.errors] == ["CyclicDependency"]


@pytest.mark.parametrize(
    ("code", "traits"),
    [
        ("result = tg.ref('bronze.a')", (False, False, False)),
        ("result = tg.ref('bronze.a') if tg.is_incremental() else 1", (True, False, False)),
        ("result = tg.ref('bronze.a').where(F.col('id') > tg.watermark_value)", (True, True, False)),
        ("result = tg.this()", (False, False, True)),
        ("result = tg.ref('silver.m')", (False, False, True)),
    ],
)
def test_what_it_asks_of_a_run_is_known(tmp_path: Path, code: str, traits: tuple[bool, ...]) -> None:
    model = built_with(tmp_path, code).compiled.models[table("silver.m")]
    assert (model.manual, model.uses_watermark, model.reads_itself) == traits


@pytest.mark.parametrize(
    ("line", "deterministic"),
    [
        ("tg.ref('bronze.a').select('id')", True),
        ("tg.ref('bronze.a').withColumn('x', F.rand())", False),
        ("tg.ref('bronze.a').withColumn('x', F.current_timestamp())", False),
        ("tg.ref('bronze.a').selectExpr('uuid() AS x')", False),
        ("tg.ref('bronze.a').selectExpr('current_date AS x')", False),
        ("tg.ref('bronze.a').sample(0.5)", False),
        ("tg.sql('SELECT now() AS x FROM bronze.a')", False),
        ("tg.sql('SELECT id FROM bronze.a LIMIT 3')", False),
        ("tg.ref('bronze.a').withColumn('x', F.lit(tg.run_started_at))", False),
        ("datetime.now()", False),
        ("date.today()", False),
        ("'now is the time'", True),
        ("tg.ref('bronze.e')", True),
    ],
)
def test_what_changes_from_run_to_run_is_seen(tmp_path: Path, line: str, deterministic: bool) -> None:
    code = f'"""A text with now() in it."""\nresult = {line}'
    assert built_with(tmp_path, code).compiled.models[table("silver.m")].deterministic is deterministic


@pytest.mark.parametrize("module", ["random", "uuid", "secrets", "time"])
def test_a_module_that_changes_from_run_to_run_is_seen(tmp_path: Path, module: str) -> None:
    toml = '[project]\nname = "shop"\n[sandbox]\nmode = "trusted"\n'
    built = built_with(tmp_path, f"from {module} import x\nresult = x", **{"tidegate.toml": toml})
    assert not built.compiled.models[table("silver.m")].deterministic


def test_columns_are_open_for_its_readers(tmp_path: Path) -> None:
    more = {"models/gold/g.sql": "select anything, id + 1 as n from silver.m"}
    built = built_with(tmp_path, "result = tg.ref('bronze.a')", **more)
    model = built.compiled.models[table("gold.g")]
    assert [edge.origin.column for edge in model.edges] == ["anything", "id"]
    assert not built.compiled.models[table("silver.m")].relation.complete


def test_what_code_may_pass_on_is_hidden(tmp_path: Path) -> None:
    pii = "-- @column: email: mail [pii]\nselect 1 as id, 'x' as email"
    more = {
        "models/bronze/a.sql": pii,
        "models/bronze/masked.sql": pii.replace("[pii]", "[pii, hash]"),
        "models/gold/named.sql": "select foo, safe from silver.m",
        "models/gold/star.sql": "select * from silver.m",
        "models/gold/next.py": "result = tg.ref('gold.star')",
        "models/gold/clean.py": "result = tg.ref('bronze.b')",
    }
    built = built_with(tmp_path, "# @column: safe: no [public]\nresult = tg.ref('bronze.a')", **more).compiled
    columns = ["id", "safe", "foo"]
    hidden = {name: hidden_in_table(built, table(name), columns) & {*columns} for name in ("silver.m", "gold.named")}
    assert hidden == {"silver.m": {"id", "foo"}, "gold.named": {"foo"}}
    assert hidden_in_table(built, table("gold.star"), columns) >= {"id", "foo"}
    assert hidden_in_table(built, table("gold.next"), columns) >= {"id", "foo"}
    assert hidden_in_table(built, table("gold.clean"), columns) == frozenset()
    touching = [str(t.short("shop")) for t, m in built.models.items() if touches_hidden_columns(built, m)]
    assert touching == ["bronze.a", "bronze.masked", "gold.named", "gold.next", "gold.star", "silver.m"]
    assert "x" in hidden_in_query(built, "select foo as x, safe from `shop`.`silver`.`m`")
    assert "safe" not in hidden_in_query(built, "select foo as x, safe from `shop`.`silver`.`m`")


def test_a_change_of_its_settings_is_placed_in_the_decorator(tmp_path: Path) -> None:
    codes = (f"from tidegate import tg\n@tg.model(kind='{k}', unique_key='id')\ndef model(tg): ..." for k in STRATEGIES)
    before, after = (built_with(tmp_path / f"{n}", code).compiled for n, code in enumerate(codes))
    (found,) = change_diagnostics(compare(interfaces(before), interfaces(after)), after)
    assert found.span == Span("models/silver/m.py", 2, 11)


def test_an_unchanged_file_is_compiled_from_the_cache(tmp_path: Path) -> None:
    files = {**FILES, "models/silver/m.py": "result = tg.sql('SELECT id FROM bronze.b')"}
    cache = CompileCache()

    def compiled() -> Compiled:
        settings = load_settings(write_project(tmp_path, files), env={})
        return compile_project(load_project(settings, cache.texts), settings, [], {}, cache=cache)

    first = compiled()
    files["models/gold/g.sql"] = "select x from silver.m"
    second = compiled()
    assert second.models[table("silver.m")] == first.models[table("silver.m")]
    files["models/bronze/b.sql"] = "select 1 as other"
    assert [d.code for d in compiled().errors] == ["UnknownColumn", "UnknownColumn", "UnknownColumn"]
    files["models/bronze/b.sql"] = "select 1 as id"
    files["models/silver/m.py"] = "result = tg.ref('bronze.a')"
    assert compiled().models[table("silver.m")].depends_on == (table("bronze.a"),)


def test_helper_files_are_no_models(tmp_path: Path) -> None:
    more = {
        "models/silver/__init__.py": "",
        "models/silver/_helper.py": "x = 1",
        "models/silver/f/pipeline.py": "result = 1",
    }
    built = built_with(tmp_path, "result = tg.ref('bronze.a')", **more)
    assert [str(t.short("shop")) for t in built.compiled.models if t.layer == "silver"] == ["silver.f", "silver.m"]
