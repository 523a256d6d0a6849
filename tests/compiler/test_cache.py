"""A compilation that remembers gives what one that starts from nothing gives, and does less."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, LongType, NestedField

from tests.compiler.projects import write_project
from tidegate.compiler import Compiled, compile_project, run_passes
from tidegate.compiler.compile_cache import CompileCache
from tidegate.config import load_settings
from tidegate.datatypes import INT, Column, Relation
from tidegate.lake.branch_catalog import Heads, Pointer, PointerKind
from tidegate.names import TableName
from tidegate.project import load_project
from tidegate.sources import Discovery, SourceTable, known_tables

CASES = Path(__file__).parents[1] / "cases" / "contracts"
SHOP = {
    "models/bronze/a.sql": "select 1 as id, 'x' as name",
    "models/silver/b.sql": "select id, name from bronze.a",
    "models/silver/c.sql": "-- @materialized: ephemeral\nselect id from silver.b",
    "models/gold/d.sql": "select id from silver.c",
    "models/gold/e.sql": "select count(*) as n from bronze.a",
}


def compiled(root: Path, cache: CompileCache | None = None, lake: Heads | None = None) -> Compiled:
    options, cache = load_settings(root, env={}), cache or CompileCache()
    project = load_project(options, cache.texts)
    return compile_project(project, options, lake or {}, {}, known_tables(options), cache)


def codes(root: Path, cache: CompileCache | None = None, lake: Heads | None = None) -> list[str]:
    return [f"{d.code} {d.span.file}:{d.span.line}" for d in compiled(root, cache, lake).diagnostics if d.span]


def published(catalog: Catalog, name: str, *fields: NestedField) -> Heads:
    """What main holds once a table of these columns was published."""
    catalog.create_namespace_if_not_exists("shop." + name.partition(".")[0])
    table = catalog.create_table(f"shop.{name}", Schema(*fields))
    return {TableName.parse(name, "shop"): Pointer(PointerKind.TABLE, table.metadata_location)}


def kept(result: Compiled) -> object:
    models = {str(table): result.models[table] for table in result.models}
    return models, result.waves, result.diagnostics


def recompiled(root: Path, cache: CompileCache) -> set[str]:
    """The files whose outcome a compilation replaced."""
    before = dict(cache.outcomes)
    compiled(root, cache)
    return {file for file, found in cache.outcomes.items() if before.get(file) is not found}


def test_what_is_unchanged_is_not_compiled_again(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)
    cache = CompileCache()
    first = compiled(tmp_path, cache)
    assert set(cache.outcomes) == set(SHOP)
    assert recompiled(tmp_path, cache) == set()
    assert kept(compiled(tmp_path, cache)) == kept(first)


def test_a_changed_file_reaches_as_far_as_its_columns_change(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)
    cache = CompileCache()
    compiled(tmp_path, cache)
    write_project(tmp_path, {"models/bronze/a.sql": "select 2 as id, 'y' as name -- the same columns"})
    assert recompiled(tmp_path, cache) == {"models/bronze/a.sql"}
    write_project(tmp_path, {"models/bronze/a.sql": "select 2 as id, 'y' as name, 3 as more"})
    assert recompiled(tmp_path, cache) == {"models/bronze/a.sql", "models/silver/b.sql", "models/gold/e.sql"}
    write_project(
        tmp_path, {"models/silver/c.sql": "-- @materialized: ephemeral\nselect id from silver.b where id > 1"}
    )
    assert recompiled(tmp_path, cache) == {"models/silver/c.sql", "models/gold/d.sql"}


def test_a_file_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)
    cache = CompileCache()
    compiled(tmp_path, cache)
    (tmp_path / "models/gold/e.sql").unlink()
    compiled(tmp_path, cache)
    assert "models/gold/e.sql" not in cache.outcomes


def test_errors_are_told_each_time(tmp_path: Path) -> None:
    write_project(tmp_path, {**SHOP, "models/gold/d.sql": "select id from silver.nowhere"})
    cache = CompileCache()
    codes = [[d.code for d in compiled(tmp_path, cache).diagnostics] for _ in range(2)]
    assert codes == [["UnknownDependency"]] * 2


def test_warnings_are_told_each_time(tmp_path: Path) -> None:
    write_project(tmp_path, {**SHOP, "models/gold/d.sql": "-- @kind: append\nselect count(*) as n from bronze.a"})
    cache = CompileCache()
    codes = [[d.code for d in compiled(tmp_path, cache).diagnostics] for _ in range(2)]
    assert codes == [["GroupOfNewRows"]] * 2


def test_the_environment_is_asked_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_project(tmp_path, {"models/bronze/a.sql": "select '{{ env_var(\"PLACE\") }}' as place"})
    cache = CompileCache()
    prints = []
    for place in ("here", "there"):
        monkeypatch.setenv("PLACE", place)
        (model,) = compiled(tmp_path, cache).models.values()
        prints.append(model.fingerprint)
    assert prints[0] != prints[1]


def test_it_is_kept_in_a_file_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    root = write_project(tmp_path / "shop", SHOP)
    cache = CompileCache.open(root)
    compiled(root, cache)
    cache.save()
    again = CompileCache.open(root)
    assert set(again.outcomes) == set(SHOP)
    assert recompiled(root, again) == set()
    assert CompileCache.open(tmp_path / "other").outcomes == {}


def test_a_damaged_file_is_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    root = write_project(tmp_path / "shop", SHOP)
    cache = CompileCache.open(root)
    compiled(root, cache)
    cache.save()
    assert cache.file is not None
    for content in (b"", b"nonsense", cache.file.read_bytes()[:-20]):
        cache.file.write_bytes(content)
        assert CompileCache.open(root).outcomes == {}


def test_a_small_change_is_kept_beside_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    root = write_project(tmp_path / "shop", {f"models/bronze/m{i}.sql": "select 1 as id" for i in range(80)})
    cache = CompileCache.open(root)
    compiled(root, cache)
    cache.save()
    assert cache.file is not None
    whole = cache.file.read_bytes()
    for text in ("select 2 as id", "select 3 as id"):
        write_project(root, {"models/bronze/m7.sql": text})
        (root / "models/bronze/m8.sql").unlink(missing_ok=True)
        cache = CompileCache.open(root)
        assert recompiled(root, cache) == {"models/bronze/m7.sql"}
        cache.save()
    assert cache.file is not None
    assert cache.file.read_bytes() == whole
    again = CompileCache.open(root)
    assert len(again.outcomes) == 79
    assert recompiled(root, again) == set()
    cache.file.with_suffix(".changes").write_bytes(b"nonsense")
    assert recompiled(root, CompileCache.open(root)) == {"models/bronze/m7.sql"}


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").write_text("a file where the folder would be")
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    root = write_project(tmp_path / "shop", SHOP)
    cache = CompileCache.open(root)
    compiled(root, cache)
    cache.save()


def test_all_cores_together_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "abcdefgh"
    files = {f"models/bronze/{n}.sql": f"select {i} as id, 'x' as {n}" for i, n in enumerate(names)}
    files |= {f"models/silver/{n}.sql": f"select id, {n} from {{{{ ref('bronze.{n}') }}}}" for n in names}
    files |= {f"models/gold/{n}.sql": f"select x.{n}, y.nothing from silver.{n} x, bronze.a y" for n in names}
    files |= {"models/gold/z.sql": "select {{ nothing }}"}
    write_project(tmp_path, files)
    alone = compiled(tmp_path)
    monkeypatch.setattr(run_passes, "_FORK_FROM", 1)
    monkeypatch.setattr(run_passes, "cores", lambda: 3)
    assert kept(compiled(tmp_path)) == kept(alone)


def test_what_was_published_fills_in_what_a_query_leaves_open(tmp_path: Path) -> None:
    files = {
        "landing/z/": "",
        "models/bronze/a.sql": "select * from {{ landing_zone('z') }}",
        "models/silver/b.sql": "select id, day from bronze.a where day = true",
        "models/silver/c.sql": "select id from silver.b where day = 1",
    }
    root = write_project(tmp_path / "shop", files)
    catalog = SqlCatalog("main", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    cache = CompileCache()
    assert codes(root, cache) == []
    heads = published(catalog, "bronze.a", NestedField(1, "id", LongType()), NestedField(2, "day", DateType()))
    assert codes(root, cache, heads) == codes(root, None, heads) != []


def test_a_source_is_asked_by_the_parts_of_its_name(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"models/bronze/a.sql": "select id, n from ext.`a.b`.c"})
    options, cache = load_settings(root, env={}), CompileCache()
    known = [Column("id", INT), Column("n", INT)]
    for columns, count in ((known, 0), (known[:1], 1)):
        table = SourceTable(TableName("ext", "a.b", "c"), Relation(tuple(columns)), "ext", "catalog")
        found = compile_project(load_project(options), options, {}, {}, Discovery((table,)), cache)
        assert len(found.diagnostics) == count


def test_whether_spark_is_lenient_counts(tmp_path: Path) -> None:
    toml, sql = '[project]\nname = "shop"\n', "select 1 as id where true = date '2024-01-01'"
    lenient = toml + '[spark.conf]\n"spark.sql.ansi.enabled" = false\n'
    cache = CompileCache()
    root = write_project(tmp_path, {"models/silver/a.sql": sql, "tidegate.toml": lenient})
    assert codes(root, cache) == []
    write_project(root, {"tidegate.toml": toml})
    assert codes(root, cache) == ["TypeMismatch models/silver/a.sql:1"]


def test_whether_models_may_run_code_counts(tmp_path: Path) -> None:
    write_project(tmp_path, {"models/bronze/a.sql": "select reflect('java.lang.System', 'lineSeparator') as x"})
    cache, toml = CompileCache(), (tmp_path / "tidegate.toml").read_text()
    (tmp_path / "tidegate.toml").write_text(f"{toml}\n[spark]\nallow_code = true\n")
    assert codes(tmp_path, cache) == []
    (tmp_path / "tidegate.toml").write_text(toml)
    assert codes(tmp_path, cache) == ["CodeInQuery models/bronze/a.sql:1"]


def test_a_test_that_comes_later_counts(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"models/silver/e/pipeline.sql": "-- @materialized: ephemeral\nselect 1 as id"})
    cache = CompileCache()
    assert codes(root, cache) == []
    write_project(root, {"models/silver/e/tests/quality/t.sql": "select 1 as id"})
    assert codes(root, cache) == codes(root) != []


def test_the_environment_of_what_is_inlined_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "models/bronze/x.sql": "select 1 as id",
        "models/bronze/y.sql": "select 1 as id",
        "models/silver/e.sql": (
            "-- @materialized: ephemeral\n"
            "select x.id from bronze.x x {{ env_var('JOIN') }} join bronze.y y on x.id = y.id"
        ),
        "models/silver/b.sql": "-- @kind: append\nselect id from silver.e",
    }
    root, cache, found = write_project(tmp_path, files), CompileCache(), []
    for join in ("left", "right", "left"):
        monkeypatch.setenv("JOIN", join)
        found.append(codes(root, cache))
        assert found[-1] == codes(root)
    assert found[0] == found[2] == []
    assert found[1]


def test_a_warning_moves_with_the_line_it_tells(tmp_path: Path) -> None:
    files = {
        "models/silver/_defaults.toml": 'merge_strategy = "append_only"\n',
        "models/bronze/a.sql": "select 1 as id",
        "models/bronze/b.sql": "select 1 as id",
        "models/silver/b.sql": "select a.id from bronze.a a join bronze.b b on a.id = b.id",
    }
    root, cache = write_project(tmp_path, files), CompileCache()
    assert codes(root, cache) == ["AppendLookup models/silver/_defaults.toml:1"]
    write_project(root, {"models/silver/_defaults.toml": '\n\nmerge_strategy = "append_only"\n'})
    assert codes(root, cache) == ["AppendLookup models/silver/_defaults.toml:3"]


_TEXTS = {
    "models/bronze/a.sql": ["select 1 as id", "select 1 as id, 2 as k", "select 1.5 as id", "select nope from", None],
    "models/silver/b.sql": [
        "select id from bronze.a",
        "-- @materialized: ephemeral\nselect id from bronze.a",
        "-- @materialized: view\nselect id, now() as t from bronze.a",
        "select * from bronze.a",
        None,
    ],
    "models/silver/c.sql": [
        "select id from silver.b",
        "-- @kind: append\nselect id from silver.b",
        "select k from silver.b",
    ],
    "models/gold/d.sql": ["select id from silver.c", "select id from silver.c join bronze.a using (id)", None],
    "macros/m.sql": ["{% macro m() %}1{% endmacro %}", "{% macro m() %}2{% endmacro %}"],
    "models/gold/e.sql": ["select {{ m() }} as n from gold.d", "select {{ var('x', 3) }} as n"],
    "models/gold/e/tests/quality/t.sql": ["select * from {{ this }} where n > 2", None],
}
_EDITS = st.lists(
    st.sampled_from(sorted(_TEXTS)).flatmap(lambda f: st.tuples(st.just(f), st.sampled_from(_TEXTS[f]))), max_size=5
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_EDITS, min_size=1, max_size=4))
def test_whatever_is_edited_the_answer_is_that_of_a_fresh_start(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[tuple[str, str | None]]]
) -> None:
    root = write_project(tmp_path_factory.mktemp("shop"), {f: t[0] for f, t in _TEXTS.items() if t[0] is not None})
    cache = CompileCache()
    compiled(root, cache)
    for edits in rounds:
        for file, text in edits:
            (root / file).unlink(missing_ok=True)
            if text is not None:
                write_project(root, {file: text})
        assert kept(compiled(root, cache)) == kept(compiled(root))


def test_a_table_that_is_no_longer_appended_is_seen_by_those_that_ask_for_its_latest_row(tmp_path: Path) -> None:
    append, cache = "-- @kind: append\n", CompileCache()
    latest = "-- @kind: merge\n-- @unique_key: id\n-- @on_duplicate: latest\nselect id from bronze.a"
    write_project(tmp_path, {"models/bronze/a.sql": f"{append}select 1 as id", "models/silver/b.sql": latest})
    assert codes(tmp_path, cache) == []
    write_project(tmp_path, {"models/bronze/a.sql": "select 1 as id", "models/silver/b.sql": latest})
    assert codes(tmp_path, cache) == ["LatestWithoutWatermark models/silver/b.sql:3"]


def test_a_quarantine_that_is_no_longer_written_is_seen_by_those_that_read_it(tmp_path: Path) -> None:
    cache = CompileCache()
    zones = '[landing.a]\nbad_records = "quarantine"\n'
    files = {
        "landing/a/1.csv": "id\n",
        "landing/b/1.csv": "id\n",
        "tidegate.toml": f'[project]\nname = "shop"\n{zones}',
    }
    reader = {"models/silver/b.sql": "select _text from bronze.a__quarantine"}
    write_project(tmp_path, {**files, **reader, "models/bronze/a.sql": "select id from {{ landing_zone('a') }}"})
    assert codes(tmp_path, cache) == []
    write_project(tmp_path, {**files, **reader, "models/bronze/a.sql": "select id from {{ landing_zone('b') }}"})
    assert codes(tmp_path, cache) == ["QuarantineOfNothing models/silver/b.sql:1"]


def test_a_quality_rule_of_a_contract_that_changes_is_judged_again(tmp_path: Path) -> None:
    contract = (CASES / "orders.odcs.yml").read_text("utf-8")
    rule = '    quality: [{type: sql, mustBe: 0, query: "amount < 0"}]\n'
    write_project(tmp_path, {"landing/orders/": "", "contracts/orders.odcs.yml": contract + rule})
    cache = CompileCache()
    assert codes(tmp_path, cache) == []
    (tmp_path / "contracts/orders.odcs.yml").write_text(contract + rule.replace("amount", "reflect('a', 'b')"))
    line = contract.count("\n") + 1
    assert codes(tmp_path, cache) == [f"CodeInQuery contracts/orders.odcs.yml:{line}"]
