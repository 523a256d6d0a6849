"""The twelve statements as a project of each side: Tidegate's, a plain script's, dbt's. All read one source table."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dbt import dbt_command, dbt_project, session_environment, session_profile
from benchmarks.statements import SOURCE, SOURCE_COLUMNS, STATEMENTS
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import MAIN
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.spark.jars import ensure_jars
from tidegate.spark.java import find_java

__all__ = ["NAMESPACE", "BenchProject", "OtherSide", "dbt_side", "plain_side"]

ROOT = Path(__file__).parent.parent
NAMESPACE = "bench"
EVENT_LOGS = "event-logs"


@dataclass(frozen=True)
class BenchProject:
    """Tidegate's. `keep_alive`: how long the process with Spark waits for the next command."""

    folder: Path
    keep_alive: str | None = None
    logs_events: bool = False

    def write(self, statements: Mapping[str, str] = STATEMENTS) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(self.folder, "tidegate.toml", self._toml())
        for table, select in statements.items():
            _write(self.folder, f"models/{table.replace('.', '/')}.sql", select.lstrip())

    def _toml(self) -> str:
        name, _, table = SOURCE.partition(".")
        columns = ", ".join(f'{column} = "{kind}"' for column, (kind, _) in SOURCE_COLUMNS.items())
        spark = f'keep_alive = "{self.keep_alive}"\n' if self.keep_alive else ""
        if self.logs_events:
            (self.folder / EVENT_LOGS).mkdir(exist_ok=True)
            spark += f'[spark.conf]\n"spark.eventLog.enabled" = "true"\n"spark.eventLog.dir" = "{self.event_logs}"\n'
            spark += '"spark.eventLog.rolling.enabled" = "false"\n"spark.eventLog.compress" = "false"\n'
        return (
            f'[project]\nname = "bench"\nnamespace = "{NAMESPACE}"\n\n[spark]\n{spark}\n'
            f'[sources.{name}]\nkind = "manual"\n\n[sources.{name}.tables."{table}"]\ncolumns = {{ {columns} }}\n'
        )

    @property
    def event_logs(self) -> Path:
        return self.folder / EVENT_LOGS

    def command(self, *words: str) -> list[str]:
        program = str(Path(sys.executable).parent / "tidegate")
        return [program, *words, "--project", str(self.folder)]

    @property
    def environment(self) -> Mapping[str, str]:
        # As on any machine: modules are compiled once, not with every start.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "PYTHONPATH": str(ROOT / "src")}

    def lake_conf(self) -> Mapping[str, str]:
        """For Spark: its lake as the catalog `main`."""
        return open_catalog(load_settings(self.folder)).spark_conf(MAIN)


@dataclass(frozen=True)
class OtherSide:
    """`conf`: for Spark, of the lake that it reads as `main` and of its own catalog, which has its tables."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    conf: Mapping[str, str]
    catalog: str


def plain_side(folder: Path, lake: BenchProject, statements: Mapping[str, str]) -> OtherSide:
    conf = _with_own_catalog(folder, lake, "plain")
    spark = {
        **conf,
        **_ICEBERG,
        "spark.jars": ",".join(map(str, ensure_jars(find_java(), print))),
        "spark.sql.defaultCatalog": "plain",
    }
    text = {table: _from_lake(select) for table, select in statements.items()}
    _write(folder, "plain.json", json.dumps({"spark": spark, "statements": text}, indent=2))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAVA_HOME": str(find_java().home)}
    command = [sys.executable, "-m", "benchmarks.plain", str(folder / "plain.json")]
    return OtherSide(command, folder, environment, conf, "plain")


def dbt_side(folder: Path, lake: BenchProject, statements: Mapping[str, str]) -> OtherSide:
    """With the same Spark, the same Java and the same kind of tables, in dbt's own process."""
    conf = _with_own_catalog(folder, lake, "dbt_lake")
    jars = os.pathsep.join(map(str, ensure_jars(find_java(), print)))
    spark = {**conf, **_ICEBERG, "spark.driver.extraClassPath": jars, "spark.sql.defaultCatalog": "dbt_lake"}
    _write(folder, "dbt_project.yml", dbt_project(file_format="iceberg"))
    _write(folder, "macros/schema.sql", _SCHEMA_MACRO)
    _write(folder, "profiles.yml", session_profile(spark))
    for table, select in statements.items():
        layer, name = table.split(".")
        text = f"{{{{ config(schema='{layer}') }}}}\n{_REFERENCE.sub(_as_reference, _from_lake(select))}"
        _write(folder, f"models/{layer}/{name}.sql", text)
    return OtherSide(dbt_command("run"), folder, session_environment(folder), conf, "dbt_lake")


_ICEBERG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.session.timeZone": "UTC",
}

_REFERENCE = re.compile(r"\b(?:silver|gold)\.(\w+)")

_SCHEMA_MACRO = """\
{% macro generate_schema_name(custom_schema_name, node) %}{{ custom_schema_name or target.schema }}{% endmacro %}
"""


def _with_own_catalog(folder: Path, lake: BenchProject, name: str) -> dict[str, str]:
    """The same kind of catalog with the same rules for its tables."""
    folder.mkdir(parents=True, exist_ok=True)
    own = EmbeddedCatalog(folder / "catalog.db", folder / "warehouse").spark_conf(MAIN)
    prefix = f"spark.sql.catalog.{MAIN}"
    return {**lake.lake_conf(), **{key.replace(prefix, f"spark.sql.catalog.{name}"): own[key] for key in own}}


def _from_lake(select: str) -> str:
    return select.replace(SOURCE, f"{MAIN}.{SOURCE}")


def _as_reference(found: re.Match[str]) -> str:
    return f"{{{{ ref('{found.group(1)}') }}}}"


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
