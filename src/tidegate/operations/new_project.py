"""New projects on disk: the smallest one that runs (`init`), and the sample shop (`demo`)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegate.config import Settings
from tidegate.errors import ProjectError, SetupError, TidegateError

__all__ = ["MEASURES", "DemoMeasure", "ProjectExistsError", "deliver", "measure", "write_demo", "write_project"]

_TOML = """\
# The settings of this project. Everything is optional; what is commented out shows the default.
# ${VAR} and ${VAR:-default} are filled in from the environment.

[project]
name = "@name@"
# namespace = "…"                    # first part of every table's name; default: made from the project's name

# [lake]
# warehouse = ".tidegate/warehouse"  # where the tables' files are

# [spark]
# master = "local[*]"
# memory = "2g"

# [run]
# publish = "run"                    # run | wave | model | all
# concurrency = 2                    # models side by side; default: one per core

# [landing]
# root = "landing"                   # landing/<zone>/ holds the raw files of a zone

# [landing.orders]                   # how to read the files of zone orders; left out: found out from the files
# format = "csv"
# header = true
# columns = { id = "bigint", ordered_at = "timestamp" }

# [vars]                             # for var('name') in models; `tidegate run --var name=value` wins
"""

_MODEL = """\
-- @description: An example to begin with: change it, or delete it.
-- @merge_strategy: incremental
-- @unique_key: id

-- With files in landing/<zone>/ this would be: SELECT … FROM {{ landing_zone('<zone>') }}
SELECT
  id,
  name
FROM VALUES
  (1, 'ebb'),
  (2, 'flood') AS tides(id, name)
"""

_TEST = """\
-- @description: Every tide has a name. A test passes when its query returns no rows.
SELECT *
FROM {{ this }}
WHERE name IS NULL
"""

_FILES = {
    "tidegate.toml": _TOML,
    "models/silver/tides/pipeline.sql": _MODEL,
    "models/silver/tides/tests/quality/has_name.sql": _TEST,
    "landing/.gitkeep": "",
    ".gitignore": ".tidegate/\n",
}


def write_project(folder: Path) -> tuple[str, ...]:
    """The names of the files written. Nothing that exists is overwritten."""
    existing = [name for name in ("tidegate.toml", "models") if (folder / name).exists()]
    if existing:
        raise ProjectExistsError(folder, existing[0])
    written = []
    try:
        for name, text in _FILES.items():
            path = folder / name
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("@name@", _toml_text(folder.resolve().name or "lake")), encoding="utf-8")
            written.append(name)
    except OSError as error:
        raise SetupError(
            f"The project cannot be written: {error.strerror}",
            where=str(error.filename or folder),
            remedy="Name a folder that this user may write, on a disk with space.",
        ) from error
    return tuple(written)


def _toml_text(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


class ProjectExistsError(ProjectError):
    def __init__(self, folder: Path, existing: str) -> None:
        super().__init__(f"{folder} has a project already: {existing} is there")
        self.where = str(folder / existing)
        self.remedy = "Name another folder, or work with the project that is there."


_SHOP = Path(__file__).parent / "demo" / "project"
_LAKE = ".tidegate"


def write_demo(folder: Path) -> None:
    """Write the sample project. A demo that was here before and is as it was written makes room for the new one."""
    try:
        if folder.exists():
            _clear(folder)
        shutil.copytree(_SHOP, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        raise TidegateError(
            f"Cannot write the demo: {error.strerror or error}",
            where=str(error.filename or folder),
            remedy="Name a folder that can be written: tidegate demo DIR",
        ) from error


def deliver(folder: Path, delivery: str) -> tuple[Path, ...]:
    """Copy a delivery's files to the landing zones; gives them, relative to the project."""
    source = folder / "deliveries" / delivery
    arrived = []
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        target = folder / "landing" / file.relative_to(source)
        shutil.copyfile(file, target)
        arrived.append(target.relative_to(folder))
    return tuple(arrived)


def _clear(folder: Path) -> None:
    strange = _not_ours(folder)
    if strange is not None:
        raise TidegateError(
            f"'{folder}' holds something that the demo did not write: {strange}",
            where=str(folder),
            remedy="Name another folder (tidegate demo DIR), or remove this one if you no longer need it.",
        )
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _not_ours(folder: Path) -> str | None:
    """The first thing in `folder` that is not, byte for byte, a file of the demo, nor the lake of one."""
    if not folder.is_dir() or folder.is_symlink():
        return folder.name
    demo_files = {path.read_bytes() for path in _SHOP.rglob("*") if path.is_file()}
    is_demo = (folder / "tidegate.toml").is_file() and (folder / "tidegate.toml").read_bytes() in demo_files
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if is_demo and relative.parts[0] == _LAKE:
            continue
        if path.is_symlink() or (path.is_file() and path.read_bytes() not in demo_files):
            return str(relative)
    return None


@dataclass(frozen=True, slots=True)
class DemoMeasure:
    """One number of one table, looked at after each run."""

    table: str
    what: str
    sql: str


MEASURES = (
    DemoMeasure("bronze.payments", "rows", "count(*)"),
    DemoMeasure("silver.orders", "orders", "count(*)"),
    DemoMeasure("silver.customers", "versions", "count(*)"),
    DemoMeasure("silver.payments", "payments", "count(*)"),
    DemoMeasure("silver.returns", "returns", "count(*)"),
    DemoMeasure("gold.daily_revenue", "revenue", "sum(revenue)"),
    DemoMeasure("gold.customer_value", "ordered", "sum(ordered)"),
    DemoMeasure("gold.customer_value_usd", "dollars", "sum(ordered)"),
    DemoMeasure("gold.customer_segments", "large", "count_if(segment = 'large')"),
    DemoMeasure("gold.current_customers", "Ada lives in", "max(CASE WHEN name = 'Ada' THEN city END)"),
)


def measure(settings: Settings) -> Mapping[DemoMeasure, str]:
    """All measures in one query, so that they are of one moment."""
    from tidegate.operations.query import query  # only here: it imports pyspark, which writing a project does not need

    parts = [f"SELECT {i} AS number, CAST({m.sql} AS STRING) AS value FROM {m.table}" for i, m in enumerate(MEASURES)]
    return {MEASURES[row["number"]]: str(row["value"]) for row in query(settings, " UNION ALL ".join(parts)).rows}
