"""Makes a project of N models, the same on every machine, once for Tidegate and once for dbt.

python -m benchmarks.compile_project FOLDER MODELS
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.dbt import dbt_project

__all__ = ["Table", "changed_model", "generate", "model_file", "with_new_precision", "write_projects"]

SEED = 4
SHARES = (("bronze", 30), ("staging", 30), ("silver", 25), ("gold", 15))
"""Layer and per cent of the models: sources, staging, joins, facts."""

_FIRST_PRECISION = 12
_REFERENCE = re.compile(r"<(\w+)\.(\w+)>")

_ATTRIBUTES = {
    "name": "STRING",
    "email": "STRING",
    "country": "STRING",
    "status": "STRING",
    "channel": "STRING",
    "quantity": "INT",
    "priority": "SMALLINT",
    "score": "DOUBLE",
    "is_active": "BOOLEAN",
    "discount": "DECIMAL(5, 2)",
    "created_on": "DATE",
    "valid_until": "DATE",
    "seen_at": "TIMESTAMP",
    "notes": "STRING",
}
_LITERALS = {
    "STRING": "'{word} {n}'",
    "INT": "{n}",
    "SMALLINT": "{n}",
    "BIGINT": "{n}",
    "DOUBLE": "{n}.5",
    "BOOLEAN": "{flag}",
    "DATE": "'2026-01-{day:02}'",
    "TIMESTAMP": "'2026-01-{day:02} 0{hour}:15:00'",
}
_CLEANED = {
    "STRING": ("trim({c})", "lower(trim({c}))", "coalesce(nullif({c}, ''), 'unknown')", "substring({c}, 1, 40)"),
    "INT": ("coalesce({c}, 0)", "greatest({c}, 0)", "CAST({c} AS BIGINT)"),
    "SMALLINT": ("CAST({c} AS INT)", "coalesce({c}, 0)"),
    "DOUBLE": ("round({c}, 2)", "coalesce({c}, 0.0)"),
    "BOOLEAN": ("coalesce({c}, FALSE)",),
    "DECIMAL": ("coalesce({c}, 0)", "abs({c})"),
    "DATE": ("{c}", "last_day({c})", "date_add({c}, 1)"),
    "TIMESTAMP": ("{c}", "date_trunc('HOUR', {c})"),
}


@dataclass(frozen=True, slots=True)
class Table:
    """A model. `key` and `parent` are ids by which models join, and every model has `amount` and `happened_at` too;
    `attributes` are its other columns that came from a source. References in `sql` are written `<layer.name>`."""

    layer: str
    name: str
    key: str
    parent: str
    attributes: tuple[str, ...]
    sql: str

    @property
    def reference(self) -> str:
        return f"<{self.layer}.{self.name}>"


Maker = Callable[[Random, int, Sequence[Table]], Table]


def generate(models: int) -> Iterator[Table]:
    """Each model reads only what came before it; the shares of the layers are exact."""
    random = Random(f"{SEED}:{models}")
    makers: dict[str, Maker] = {"bronze": _source, "staging": _staging, "silver": _join, "gold": _fact}
    below: list[Table] = []
    for layer, share in SHARES:
        made = []
        for number in range(models * share // 100):
            table = makers[layer](random, number, below)
            made.append(table)
            if layer == "silver" and number % 2:
                # Some joins read other joins, so that the graph is deeper than the four layers.
                below.append(table)
            yield table
        below = made


def write_projects(folder: Path, models: int) -> None:
    """`folder`/tidegate and `folder`/dbt."""
    tables = list(generate(models))
    _write(folder / "tidegate", "tidegate.toml", _TIDEGATE)
    for name, text in (("dbt_project.yml", dbt_project()), ("profiles.yml", _PROFILES)):
        _write(folder / "dbt", name, text)
    for table in tables:
        for side in ("tidegate", "dbt"):
            _write(folder / side, model_file(table), _written(table.sql, side))


def changed_model(models: int) -> Table:
    """The staging model that is changed before a warm compile: others read it."""
    tables = list(generate(models))
    read = [name for table in tables if table.layer == "silver" for _, name in _REFERENCE.findall(table.sql)]
    staging = [table for table in tables if table.layer == "staging"]
    middle = staging[len(staging) // 2 :]
    return next(table for table in middle if table.name in read)


def model_file(table: Table) -> str:
    return f"models/{table.layer}/{table.name}.sql"


def with_new_precision(sql: str, step: int) -> str:
    """The text of a staging model with another type for its amount, which all that is built from it takes over."""
    changed = re.sub(r"DECIMAL\(\d+, 2\)\) AS amount", f"DECIMAL({_FIRST_PRECISION + step}, 2)) AS amount", sql)
    if step and changed == sql:
        raise ValueError("the model has no amount whose type could be changed")
    return changed


def _source(random: Random, number: int, below: Sequence[Table]) -> Table:
    """Rows written in the model, with 7 to 15 typed columns."""
    key, parent = f"entity{number % 40}_id", f"entity{(number + 1 + random.randrange(39)) % 40}_id"
    fixed = {key: "BIGINT", parent: "BIGINT", "amount": "DECIMAL(12, 2)", "happened_at": "TIMESTAMP"}
    chosen = random.sample(tuple(_ATTRIBUTES), random.randint(3, 11))
    columns = {**fixed, **{name: kind for name, kind in _ATTRIBUTES.items() if name in chosen}}
    rows = [", ".join(_literal(random, kind, number + row) for kind in columns.values()) for row in range(3)]
    sql = _SOURCE.format(
        columns=_lines(f"  CAST(r.c{at} AS {kind}) AS {name}" for at, (name, kind) in enumerate(columns.items())),
        rows=_lines(f"    ({row})" for row in rows),
        names=", ".join(f"c{at}" for at in range(len(columns))),
    )
    return Table("bronze", f"source_{number:05}", key, parent, tuple(columns)[len(fixed) :], sql)


def _staging(random: Random, number: int, below: Sequence[Table]) -> Table:
    """One source, cleaned, the newest row of each key."""
    source = below[number % len(below)]
    ways = {name: random.choice(_CLEANED[_ATTRIBUTES[name].partition("(")[0]]) for name in source.attributes}
    sql = _STAGING.format(
        key=source.key,
        parent=source.parent,
        cleaned="".join(f"    {way.format(c=name)} AS {name},\n" for name, way in ways.items()),
        names="".join(f"  {name},\n" for name in source.attributes),
        source=source.reference,
    )
    return Table("staging", f"staging_{number:05}", source.key, source.parent, source.attributes, sql)


def _join(random: Random, number: int, below: Sequence[Table]) -> Table:
    """Two to four tables, one of them totalled in a CTE."""
    base, totalled, *others = random.sample(below, min(random.randint(2, 4), len(below)))
    kept = base.attributes[: random.randint(2, 6)]
    joins = [
        f"{random.choice(('LEFT', 'INNER'))} JOIN {other.reference} AS o{at} ON o{at}.{other.key} = b.{base.key}\n"
        for at, other in enumerate(others)
    ]
    sql = _JOIN.format(
        key=base.key,
        parent=base.parent,
        base=base.reference,
        base_names="".join(f", {name}" for name in kept),
        totalled=totalled.reference,
        totalled_key=totalled.key,
        names="".join(f"  b.{name},\n" for name in kept),
        others="".join(f"  o{at}.amount AS other_amount_{at},\n" for at in range(len(others))),
        joins="".join(joins),
    )
    return Table("silver", f"joined_{number:05}", base.key, base.parent, kept, sql)


def _fact(random: Random, number: int, below: Sequence[Table]) -> Table:
    """Aggregates by month, with CASE and running totals."""
    source = random.choice(below)
    sql = _FACT.format(key=source.key, parent=source.parent, source=source.reference, limit=random.randint(5, 50) * 10)
    return Table("gold", f"fact_{number:05}", source.parent, source.parent, (), sql)


def _literal(random: Random, kind: str, number: int) -> str:
    day, hour = random.randint(1, 28), random.randint(0, 9)
    if kind.startswith("DECIMAL"):
        return f"{random.randint(1, 99999) / 100:.2f}"
    flag = "TRUE" if day % 2 else "FALSE"
    return _LITERALS[kind].format(word="row", n=number, flag=flag, day=day, hour=hour)


def _lines(items: Iterable[str]) -> str:
    return ",\n".join(items)


def _written(sql: str, side: str) -> str:
    return _REFERENCE.sub(r"{{ ref('\1.\2') }}" if side == "tidegate" else r"{{ ref('\2') }}", sql)


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


_SOURCE = """\
SELECT
{columns}
FROM (
  VALUES
{rows}
) AS r ({names})
"""

_STAGING = """\
WITH ranked AS (
  SELECT
    {key},
    {parent},
    CAST(amount AS DECIMAL(12, 2)) AS amount,
    happened_at,
    to_date(happened_at) AS happened_on,
{cleaned}    row_number() OVER (PARTITION BY {key} ORDER BY happened_at DESC, {parent}) AS newest
  FROM {source}
  WHERE {key} IS NOT NULL
)
SELECT
  {key},
  {parent},
  amount,
  happened_at,
  happened_on,
{names}  CASE WHEN amount >= 1000 THEN 'large' ELSE 'small' END AS amount_class
FROM ranked
WHERE newest = 1
"""

_JOIN = """\
WITH base AS (
  SELECT {key}, {parent}, amount, happened_at{base_names}
  FROM {base}
  WHERE amount > 0
),
totals AS (
  SELECT
    {totalled_key} AS id,
    sum(amount) AS total_amount,
    count(*) AS total_rows,
    max(happened_at) AS last_happened_at
  FROM {totalled}
  GROUP BY {totalled_key}
)
SELECT
  b.{key},
  b.{parent},
  b.amount,
  b.happened_at,
{names}{others}  coalesce(t.total_amount, 0) AS total_amount,
  coalesce(t.total_rows, 0) AS total_rows,
  t.last_happened_at
FROM base AS b
LEFT JOIN totals AS t ON t.id = b.{parent}
{joins}"""

_FACT = """\
WITH monthly AS (
  SELECT
    {parent},
    date_trunc('MONTH', happened_at) AS month,
    sum(amount) AS amount,
    sum(CASE WHEN amount >= {limit} THEN amount ELSE 0 END) AS large_amount,
    count(CASE WHEN total_rows > 3 THEN 1 END) AS busy_rows,
    count(DISTINCT {key}) AS members,
    max(happened_at) AS happened_at
  FROM {source}
  GROUP BY {parent}, date_trunc('MONTH', happened_at)
)
SELECT
  {parent},
  month,
  amount,
  large_amount,
  members,
  happened_at,
  sum(amount) OVER (PARTITION BY {parent} ORDER BY month) AS amount_so_far,
  amount - lag(amount) OVER (PARTITION BY {parent} ORDER BY month) AS change,
  rank() OVER (PARTITION BY month ORDER BY amount DESC) AS place,
  CASE WHEN busy_rows = 0 THEN 'quiet' WHEN members > {limit} THEN 'crowded' ELSE 'usual' END AS activity
FROM monthly
"""

_TIDEGATE = '[project]\nname = "bench"\n'

_PROFILES = """\
bench:
  target: none
  outputs:
    none:
      type: spark
      method: thrift
      host: localhost
      schema: bench
      threads: 4
"""


if __name__ == "__main__":
    write_projects(Path(sys.argv[1]).absolute(), int(sys.argv[2]))
