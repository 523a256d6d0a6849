"""What is refused before Spark would work in Spark; and what is let through gets nothing out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidegate.compiler.sql.permitted import Permissions
from tidegate.compiler.sql.queries import ParsedQuery, SqlFault, check_permissions, parse_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PLANTED = "planted-9f3c"
PIECES = (
    *("'a'", "'\\''", "'\\\\'", "''", '"b"', '"\\""', "r'\\'", 'R"\\"', "x'41'", "`c`", "`c``d`", "--", "-- x", "\n"),
    *("\\\n", "\r", "/*", "*/", "/* x */", "/*+", "/*/", "+ 1", "|| 'y'", ", 2 AS d", "AS e", "'", '"', "`", "\\", "#"),
    *("{#", "#}", "$$", "s3://x", "\u00a0", "\u200b", ";", ", 'z' AS f", "n'q'", ",", "b'1'"),
)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return spark.newSession()


def test_sparks_words_are_those_that_were_checked(session: SparkSession) -> None:
    """Texts of pieces that two lexers may read differently: what passes has the columns that the tree says."""
    from pyspark.errors import PySparkException

    chance = random.Random(7)
    taken = 0
    for _ in range(4000):
        text = "SELECT 1 AS a " + " ".join(chance.choice(PIECES) for _ in range(chance.randint(1, 6))) + " , 3 AS z"
        query = parse_query(text)
        if isinstance(query, SqlFault) or any(check_permissions(query, Permissions())):
            continue
        try:
            columns = session.sql(text).columns
        except PySparkException:
            continue
        taken += 1
        assert columns == [item.alias_or_name for item in query.tree.expressions] or _only_unnamed(query, columns), text
    assert taken > 100


def _only_unnamed(query: ParsedQuery, columns: list[str]) -> bool:
    """Columns without a name are called after their text."""
    items = query.tree.expressions
    return len(items) == len(columns) and all(not i.alias or i.alias == c for i, c in zip(items, columns, strict=True))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM text.`{secret}`",
        "SELECT * FROM csv.`{secret}`",
        "SELECT * FROM `org.apache.spark.sql.execution.datasources.text.TextFileFormat`.`{secret}`",
        "SELECT '${env:PLANTED}' AS x, '${system:user.home}' AS y",
        "SELECT xpath_string('<!DOCTYPE a [<!ENTITY x SYSTEM \"file://{secret}\">]><a>&x;</a>', 'a') AS x",
        "SELECT xpath('<!DOCTYPE a SYSTEM \"file://{secret}\"><a>1</a>', 'a/text()') AS x",
        "SELECT from_xml('<!DOCTYPE a [<!ENTITY x SYSTEM \"file://{secret}\">]><p><a>&x;</a></p>', 'a STRING') AS x",
        "SELECT schema_of_xml('<!DOCTYPE a [<!ENTITY x SYSTEM \"file://{secret}\">]><p><a>&x;</a></p>') AS x",
    ],
)
def test_spark_itself_gives_nothing_away(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.setenv("PLANTED", PLANTED)
    secret = tmp_path / "secret.txt"
    secret.write_text(PLANTED)
    try:
        told = str(session.sql(sql.replace("{secret}", str(secret))).collect())
    except Exception as error:
        told = str(error)
    assert PLANTED not in told
    assert "DOCTYPE a SYSTEM" not in sql or "access is not allowed" in told


def test_what_is_refused_would_work(session: SparkSession) -> None:
    """Else the list would close nothing."""
    sql = "SELECT `REFLECT`('java.lang.System', 'getProperty', 'java.version') AS x"
    assert session.sql(sql).collect()[0]["x"]
    query = parse_query(sql)
    assert isinstance(query, ParsedQuery)
    assert [fault.code for fault in check_permissions(query, Permissions())[0]] == ["CodeInQuery"]
