"""The section of docs/benchmarks.md about whole commands."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.commands import SCENARIOS, CommandCase, CommandMedians, CommandTimes, command_targets
from benchmarks.dbt import dbt_version
from benchmarks.report import measured_with, spark_version, target_rows
from benchmarks.statements import STATEMENTS

__all__ = ["command_section"]

_SECTION = """\
## Commands

{measured_with}

{count} models over a source table of the lake; four of them read it, each its own kind of event, the others read those.
Every figure is that of a whole command, from its start to its exit, beside what the others take in the same round:
*plain* is a PySpark script that runs the same {count} statements one after the other as `CREATE OR REPLACE TABLE … AS`,
always in a JVM of its own with default settings, and does nothing else; *dbt* is `dbt run` over the same statements,
with Iceberg tables, in a Spark session of its own process. *Cold*: `tidegate` starts a JVM if it needs one{warm}. Rows
are changed by another program between the commands. After each run the tables are compared with those of the script:
the same rows, or there is no figure. The sides take turns; figures are medians of {rounds}{warm_up}; a ratio is that of
a round to the plain script in the same round. CPU is that of all processes together.

{tables}
| | measured | target | |
|---|---:|---:|---|
{targets}
"""

_WARM = """. *Warm*: with `[spark] keep_alive`,
the process that holds Spark is there from the commands before; its CPU counts"""


def command_section(times: CommandTimes, rounds: int, warm_up: bool) -> str:
    median = CommandMedians(times)
    warm = any(case.side == "warm" for case in times)
    with_dbt = any(case.side == "dbt" for case in times)
    software = f"{spark_version()}, {dbt_version()}" if with_dbt else spark_version()
    return _SECTION.format(
        measured_with=measured_with(software),
        count=len(STATEMENTS),
        warm=_WARM if warm else "",
        rounds=f"{rounds} rounds" if rounds > 1 else "one round",
        warm_up=", after one that is not counted" if warm_up else "",
        tables="\n".join(_tables(median)),
        targets=target_rows(command_targets(times)),
    )


def _tables(median: CommandMedians) -> Iterator[str]:
    sides = [side for side in ("plain", "dbt", "cold", "warm") if any(case.side == side for case in median.times)]
    head = [f"{side} (s) | CPU (s)" for side in sides]
    head += [f"{side} / plain" for side in sides if side != "plain"]
    for rows in median.sizes:
        yield f"| {rows:,} rows | {' | '.join(head)} |"
        yield f"|---|{'---:|' * (2 * len(sides) + len(sides) - 1)}"
        for scenario in SCENARIOS:
            cases = [CommandCase(rows, scenario.name, side) for side in sides]
            if any(case in median.times for case in cases):
                cells = [f"{_cell(median.seconds(case))} | {_cell(median.cpu(case))}" for case in cases]
                cells += [_cell(median.ratio(case)) for case in cases if case.side != "plain"]
                yield f"| {scenario.about} | {' | '.join(cells)} |"
        yield ""


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
