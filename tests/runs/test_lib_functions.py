"""Table functions of `lib/*.py` in runs: in the sandbox and trusted, their rows, types and failures."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.projects import ProjectFolder, statuses
from tidegate.runs import RunResult

pytestmark = pytest.mark.spark

MODES = ("sandbox", "trusted")

LIB = {
    "gam_report": """
from tidegate import tg

def gam_report(year, kind="all") -> "year int, kind string, clicks bigint":
    tg.log(f"asked for {year}")
    for month in range(1, 3):
        yield {"clicks": month * 10, "year": int(year), "kind": kind}
""",
    "pairs": """
from pyspark.sql.functions import udtf

@udtf(returnType="a int, b string")
class pairs:
    def __init__(self):
        self._seen = 0

    def eval(self, count):
        for i in range(count):
            self._seen += 1
            yield i, str(i)

    def terminate(self):
        yield self._seen, "end"
""",
    "frames": """
import pandas as pd
import pyarrow as pa

def frames(form):
    if form == "pandas":
        return pd.DataFrame({"x": [1, 2], "y": ["a", None]})
    table = pa.table({"x": pa.array([1, 2]), "y": pa.array(["a", None])})
    if form == "table":
        return table
    if form == "rows":
        return [{"x": 1, "y": "a"}, {"x": 2}]
    return iter(table.to_batches())
""",
    "broken": """
def broken(how):
    if how == "raise":
        return 1 / 0
    if how == "nothing":
        return None
    if how == "empty":
        return []
    if how == "endless":
        while True:
            pass
    return [(1, 2)]
""",
    "none": """
def none() -> "id bigint, name string":
    return []
""",
}


def write(shop: ProjectFolder, mode: str) -> None:
    toml = shop.root / "tidegate.toml"
    toml.write_text(toml.read_text() + f'\n[sandbox]\nmode = "{mode}"\n')
    for name, text in LIB.items():
        shop.file(f"lib/{name}.py", text.lstrip())


@pytest.fixture(scope="module", params=MODES)
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> tuple[ProjectFolder, RunResult]:
    shop = ProjectFolder(tmp_path_factory.mktemp("project") / "shop", spark)
    write(shop, request.param)
    shop.model("silver.clicks", "SELECT g.year, kind, g.clicks FROM gam_report('2024', kind => 'all') AS g")
    twice = "SELECT a.clicks FROM gam_report(2023) a JOIN gam_report(2023) b ON a.clicks = b.clicks"
    shop.model("silver.twice", twice)
    shop.model("silver.paired", "SELECT * FROM pairs(2)")
    forms = (f"SELECT '{form}' AS form, * FROM frames('{form}')" for form in ("pandas", "table", "rows", "batches"))
    shop.model("silver.forms", " UNION ALL ".join(forms))
    shop.model("silver.none", "SELECT * FROM none()")
    for how in ("raise", "nothing", "empty", "tuples"):
        shop.model(f"bad.{how}", f"SELECT * FROM broken('{how}')")
    return shop, shop.run()


def test_rows_come_with_the_declared_types(built: tuple[ProjectFolder, RunResult]) -> None:
    shop, result = built
    assert {name: status for name, status in statuses(result).items() if not name.startswith("bad")} == {
        "silver.clicks": "completed",
        "silver.twice": "completed",
        "silver.paired": "completed",
        "silver.forms": "completed",
        "silver.none": "completed",
    }
    rows = shop.rows("silver.clicks")
    assert sorted(map(tuple, rows)) == [(2024, "all", 10), (2024, "all", 20)]
    kinds = "SELECT DISTINCT typeof(year), typeof(kind), typeof(clicks) FROM silver.clicks"
    assert shop.rows(kinds) == [("int", "string", "bigint")]
    assert len(shop.rows("silver.twice")) == 2
    assert sorted(map(tuple, shop.rows("silver.paired"))) == [(0, "0"), (1, "1"), (2, "end")]
    assert shop.rows("SELECT id + 1, name FROM silver.none") == []


def test_every_form_of_rows_is_read(built: tuple[ProjectFolder, RunResult]) -> None:
    rows = sorted(map(tuple, built[0].rows("silver.forms")), key=str)
    assert rows == sorted(
        ((form, x, y) for form in ("pandas", "table", "rows", "batches") for x, y in ((1, "a"), (2, None))), key=str
    )


def test_what_fails_fails_its_own_model_with_its_line(built: tuple[ProjectFolder, RunResult]) -> None:
    errors = {one.model: f"{one.where}: {one.error}" for one in built[1].materializations if one.error}
    assert {model: error.partition(" (")[0] for model, error in errors.items()} == {
        "bad.raise": "lib/broken.py:3: ZeroDivisionError: division by zero",
        "bad.nothing": "lib/broken.py:1: `broken` returns nothing",
        "bad.empty": "lib/broken.py:1: `broken` gives no rows, and its columns are not declared",
        "bad.tuples": "lib/broken.py:1: `broken` gives tuples, and their columns are not declared",
    }


VERSIONED = """
def counted(limit) -> "x int":
    for x in range(limit):
        yield {"x": x}

def version(limit):
    return %s
"""


@pytest.mark.parametrize("mode", MODES)
def test_a_function_that_says_which_data_it_gives_lets_its_model_rest(shop: ProjectFolder, mode: str) -> None:
    write(shop, mode)
    shop.file("lib/counted.py", VERSIONED % "'v1'")
    shop.model("silver.counted", "SELECT * FROM counted(3)")
    shop.model("silver.always", "SELECT * FROM none()")
    first, second = shop.run(), shop.run()
    assert statuses(first) == {"silver.counted": "completed", "silver.always": "completed"}
    assert statuses(second) == {"silver.counted": "skipped", "silver.always": "completed"}
    reasons = {one.model: one.reason for one in second.materializations}
    assert reasons == {"silver.counted": "unchanged", "silver.always": "it calls none"}
    toml = shop.root / "tidegate.toml"
    shop.file("lib/counted.py", "from tidegate import tg\n" + VERSIONED % "tg.var('state')")
    toml.write_text(toml.read_text() + "\n[vars]\nstate = 1\n")
    assert statuses(shop.run("silver.counted")) == {"silver.counted": "completed"}
    assert statuses(shop.run("silver.counted")) == {"silver.counted": "skipped"}
    toml.write_text(toml.read_text().replace("state = 1", "state = 2"))
    (third,) = shop.run("silver.counted").materializations
    assert (third.status, third.reason) == ("completed", "counted gives other data")
