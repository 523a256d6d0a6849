"""The page docs/benchmarks.md: a section for each thing that is measured, with its own date and machine."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from benchmarks.checks import CheckTimes, check_targets
from benchmarks.chunks import BATCHES, FEW_ROWS, ChunkFigures, chunk_targets
from benchmarks.compiling import Case, Measured, Side, Step, Target, targets
from benchmarks.dbt import dbt_version
from benchmarks.deltas import Measured as MeasuredDeltas
from benchmarks.deltas import delta_targets
from benchmarks.idle import IDLE_MODELS, Idle, idle_targets
from benchmarks.profiles import ProfileTimes, profile_targets
from benchmarks.python_models import SEVERAL, PythonTimes, python_targets
from benchmarks.silver import SilverTimes, silver_targets
from benchmarks.source_batches import BATCH_ROWS, SourceTimes, batch_targets
from benchmarks.usage import Usage

__all__ = [
    "check_section",
    "chunk_section",
    "compile_section",
    "delta_section",
    "idle_section",
    "measured_with",
    "memory_section",
    "page",
    "profile_section",
    "python_section",
    "silver_section",
    "source_section",
    "spark_version",
    "target_rows",
]

_HEAD = """\
# Benchmarks

Written by `make bench`; run it to have the numbers of your machine.
"""

_ORDER = (
    "Commands",
    "Compiling",
    "Nothing to do",
    "Changes",
    "Checks",
    "Profiles",
    "Python models",
    "Silver",
    "Sources",
    "Chunked loads",
    "Memory",
)

_PYTHON = """\
## Python models

{measured_with}

The same Python models with `[sandbox] mode = "trusted"` and in the [sandbox](sandbox.md): a project with one of them
and one with {several}, each beside a SQL model that they read. `tidegate run --full-refresh --concurrency 1`, from
command to end; every call is a fresh process, and they take turns. The figures below the rounds are medians of the
differences within a round.

| round | 1 trusted (s) | 1 sandboxed (s) | {several} trusted (s) | {several} sandboxed (s) |
|---:|---:|---:|---:|---:|
{rounds}

| | measured | target | |
|---|---:|---:|---|
{targets}
"""

_COMPILING = """\
## Compiling

{measured_with}

Generated projects (the seed is fixed): 30 % sources with 7 to 15 typed columns, 30 % staging with functions and a
window, 25 % joins with CTEs, 15 % facts with CASE, windows and aggregates. Each is written once for Tidegate and once
for dbt, with the same SQL. `tidegate compile` renders and parses every model, resolves every name, types every column
and follows its lineage; `dbt parse` renders every model and takes down what it refers to. *Cold*: nothing is cached.
*Warm*: one file has changed since, so that a column which other models read has another type. Each figure is the
median of {rounds}; every call is a fresh process, from command to end, and the two sides take turns. CPU is that of
all processes together, memory the most that they held at one moment.

| models | | tidegate (s) | CPU (s) | MiB | dbt (s) | CPU (s) | MiB | tidegate / dbt |
|---:|---|---:|---:|---:|---:|---:|---:|---:|
{rows}

| | measured | target | |
|---|---:|---:|---|
{targets}
"""

_IDLE = """\
## Nothing to do

{measured_with}

{count} models of the same generated kind, built once before and with nothing changed since: `tidegate run`, which finds
from the lake's metadata that every table is up to date, and `dbt run` over the same SQL, which builds all of them
again, in a Spark session of its own process. Each is a fresh process, from command to end; the two sides take turns.

| round | tidegate (s) | CPU (s) | MiB | dbt (s) | CPU (s) | MiB |
|---:|---:|---:|---:|---:|---:|---:|
{rounds}

| | measured | target | |
|---|---:|---:|---|
{targets}
"""

_CHECKS = """\
## Checks

{measured_with}

A table of {rows:,} rows with 20 columns of numbers, and a check about each of them: rules about rows and aggregates
that need no exact count of different values. *Sums* is one query that adds up each of the columns; *together* is what
a run does with the checks (what Iceberg noted of the files proves is not looked for in the rows), *alone* a query for
each. *Exact* are `unique` and `primary_key` of a column, `references`, `percentile`, `median` and `distinct_count`. All
in one JVM, which has done everything once before.

| round | sums (s) | together (s) | alone (s) | exact, together (s) | exact, alone (s) |
|---:|---:|---:|---:|---:|---:|
{rounds}

| | measured | target | |
|---|---:|---:|---|
{targets}
"""

_PROFILES = """\
## Profiles

{measured_with}

A table of {rows:,} rows and 20 columns (whole numbers, amounts, text, a date and a time) is replaced by the rows of
another one: *plain* by a statement alone, *with profile* by the same statement and the question to Iceberg what it
knows of the files: NULLs, least and greatest of each column. Taking turns, in one JVM, which has done both before.

| round | plain (s) | with profile (s) |
|---:|---:|---:|
{rounds}

| | measured | target | |
|---|---:|---:|---|
{targets}
"""

_SILVER = """\
## Silver

{measured_with}

A bronze table of {rows:,} rows and 20 columns of text, one row of a hundred with a value that does not cast: *plain*
reads it, casts and writes a table; *validated* also checks 15 constraints, finds out that no key comes twice, counts,
and writes the rows that it refuses to a table of their own. Taking turns, in one JVM, which has done both before.

| round | plain (s) | validated (s) |
|---:|---:|---:|
{rounds}

| | measured | target | |
|---|---:|---:|---|
{targets}
"""

_SOURCES = """\
## Sources

{measured_with}

A table of {rows:,} rows and 6 columns in PostgreSQL is read to Parquet: *plain* by one read of Spark, in parts by its
key; *in batches* by a logical run that can be continued after each {batch:,} rows, in the order of a time and the key.
Taking turns, in one JVM, which has done both before.

| round | plain (s) | in batches (s) |
|---:|---:|---:|
{rounds}

| | measured | target | |
|---|---:|---:|---|
{targets}
"""

_CHUNKS = """\
## Chunked loads

{measured_with}

A file of {rows:,} JSON lines with 11 columns, of which one row in a hundred is refused: through chunk, process and load
into a new Delta table, with chunks of 10,000 rows, and through one Spark job that reads it, casts and checks the rows,
takes one row of each key, merges them into a Delta table and leaves the refused ones out. Each in a process of its own
that starts its own Spark; the sides take turns.

| | round | seconds | chunk | process | load | MERGEs | Python (MiB) |
|---|---:|---:|---:|---:|---:|---:|---:|
{lines}

| | measured | target | |
|---|---:|---:|---|
{targets}

The same rules as a pydantic model that each line is given to, in one process without Spark, valid rows to Parquet,
nothing merged, once:

| rows | seconds |
|---:|---:|
{by_row}
"""

_CHANGES = """\
## Changes

{measured_with}

One order in a thousand is updated; then three models that read the orders are brought up to date, once from the
changes alone (*delta*) and once from all rows (*full*), each by a run of its own; a figure is what the run says the
model took, from the decision to the recorded progress. A filter and a left join with a twentieth as many customers,
both with the order's key, and a GROUP BY over the customer; each of them reads all columns. After each delta the table
is compared with the rebuilt one: the rows must be the same. Each figure is the median of {rounds} in one JVM, which has
built a smaller project in both ways before, and this one once; the last column is what `tidegate plan` chose in the
last round.

| rows | columns | | full (s) | delta (s) | share | the plan chose |
|---:|---:|---|---:|---:|---:|---|
{rows}

| | measured | target | |
|---|---:|---:|---|
{targets}
"""

_MEMORY = """\
## Memory

{measured_with}

Peak resident memory of the Python process in the same run, by size of the source (`[spark] memory` sets the JVM's).
Rows never pass through Python, so it does not grow with them.

| rows | MiB |
|---:|---:|
{sizes}
"""


def page(before: str, sections: Sequence[str]) -> str:
    """The page with these sections new, and the others as they were."""
    found = {_title(section): section for section in re.split(r"^(?=## )", before, flags=re.MULTILINE)[1:]}
    found |= {_title(section): section for section in sections}
    return "\n".join([_HEAD, *(found[title].rstrip("\n") + "\n" for title in _ORDER if title in found)])


def compile_section(measured: Measured, rounds: int) -> str:
    cases = dict.fromkeys((case.models, case.step) for case in measured)
    return _COMPILING.format(
        measured_with=measured_with(dbt_version()),
        rounds=f"{rounds} rounds" if rounds > 1 else "one round",
        rows="\n".join(_compile_row(measured, models, step) for models, step in cases),
        targets=target_rows(targets(measured)),
    )


def delta_section(measured: MeasuredDeltas, rounds: int) -> str:
    return _CHANGES.format(
        measured_with=measured_with(spark_version()),
        rounds=f"{rounds} rounds" if rounds > 1 else "one round",
        rows="\n".join(
            f"| {cell.rows:,} | {cell.columns} | {model} | {took.full:.2f} | {took.delta:.2f} | {took.share:.0%} "
            f"| {'delta' if took.picked else 'full'} |"
            for cell, models in measured.items()
            for model, took in models.items()
        ),
        targets=target_rows(delta_targets(measured)),
    )


def check_section(times: CheckTimes, rows: int) -> str:
    names = ("sums", "together", "alone", "exact together", "exact alone")
    rounds = [
        " | ".join([str(number), *(f"{times[name][number - 1]:.2f}" for name in names)])
        for number in range(1, len(times["sums"]) + 1)
    ]
    return _CHECKS.format(
        measured_with=measured_with(spark_version()),
        rows=rows,
        rounds="\n".join(f"| {row} |" for row in rounds),
        targets=target_rows(check_targets(times)),
    )


def profile_section(times: ProfileTimes, rows: int) -> str:
    pairs = enumerate(zip(times["plain"], times["profiled"], strict=True), 1)
    return _PROFILES.format(
        measured_with=measured_with(spark_version()),
        rows=rows,
        rounds="\n".join(f"| {number} | {plain:.2f} | {profiled:.2f} |" for number, (plain, profiled) in pairs),
        targets=target_rows(profile_targets(times)),
    )


def silver_section(times: SilverTimes, rows: int) -> str:
    pairs = enumerate(zip(times["plain"], times["validated"], strict=True), 1)
    return _SILVER.format(
        measured_with=measured_with(spark_version()),
        rows=rows,
        rounds="\n".join(f"| {number} | {plain:.2f} | {checked:.2f} |" for number, (plain, checked) in pairs),
        targets=target_rows(silver_targets(times)),
    )


def chunk_section(figures: ChunkFigures, rows: int) -> str:
    jobs = ("chunk", "process", "load")
    sides = {"plain": "one Spark job", **{side: f"batches of {batch:,}" for side, batch in BATCHES.items()}}
    lines = []
    for side, name in sides.items():
        for number, figure in enumerate(figures[side], 1):
            parts = " | ".join(f"{figure[job]:.1f}" if job in figure else "" for job in jobs)
            merges, mib = figure.get("merges", 1), figure["python_mib"]
            lines.append(f"| {name} | {number} | {figure['seconds']:.1f} | {parts} | {merges} | {mib:.0f} |")
    by_row = (
        f"| {count:,} | {figure['seconds']:.1f} |"
        for count, figure in ((FEW_ROWS, figures["few"][0]), (rows, figures["pydantic"][0]))
    )
    return _CHUNKS.format(
        measured_with=measured_with(spark_version()),
        rows=rows,
        lines="\n".join(lines),
        by_row="\n".join(by_row),
        targets=target_rows(chunk_targets(figures)),
    )


def source_section(times: SourceTimes, rows: int) -> str:
    pairs = enumerate(zip(times["plain"], times["batched"], strict=True), 1)
    return _SOURCES.format(
        measured_with=measured_with(spark_version()),
        rows=rows,
        batch=BATCH_ROWS,
        rounds="\n".join(f"| {number} | {plain:.2f} | {batched:.2f} |" for number, (plain, batched) in pairs),
        targets=target_rows(batch_targets(times)),
    )


def idle_section(measured: Idle) -> str:
    sides: tuple[Side, ...] = ("tidegate", "dbt")
    rounds = [
        " | ".join([str(number), *(_cells(measured[side][number - 1] if side in measured else None) for side in sides)])
        for number in range(1, len(measured["tidegate"]) + 1)
    ]
    return _IDLE.format(
        measured_with=measured_with(f"{spark_version()}, {dbt_version()}"),
        count=IDLE_MODELS,
        rounds="\n".join(f"| {row} |" for row in rounds),
        targets=target_rows(idle_targets(measured)),
    )


def python_section(times: PythonTimes) -> str:
    cases = [("trusted", 1), ("sandbox", 1), ("trusted", SEVERAL), ("sandbox", SEVERAL)]
    rounds = enumerate(zip(*(times[case] for case in cases), strict=True), 1)
    return _PYTHON.format(
        measured_with=measured_with(spark_version()),
        several=SEVERAL,
        rounds="\n".join(f"| {number} | {' | '.join(f'{one:.2f}' for one in row)} |" for number, row in rounds),
        targets=target_rows(python_targets(times)),
    )


def memory_section(memory: Mapping[int, float]) -> str:
    sizes = "\n".join(f"| {count:,} | {peak:.0f} |" for count, peak in memory.items())
    return _MEMORY.format(measured_with=measured_with(spark_version()), sizes=sizes)


def _compile_row(measured: Measured, models: int, step: Step) -> str:
    sides: tuple[Side, ...] = ("tidegate", "dbt")
    usages = [measured.get(Case(models, step, side)) for side in sides]
    ours, theirs = usages
    ratio = f"{ours.seconds / theirs.seconds:.3f}" if ours and theirs else "–"
    return f"| {models:,} | {step} | {' | '.join(map(_cells, usages))} | {ratio} |"


def _cells(usage: Usage | None) -> str:
    return f"{usage.seconds:.2f} | {usage.cpu:.2f} | {usage.mib:.0f}" if usage else "– | – | –"


def target_rows(found: Iterable[Target]) -> str:
    return "\n".join(
        f"| {target.about} | {target.value:.2f}{target.unit} | at most {target.limit:g}{target.unit} "
        f"| {'met' if target.met else '**missed**'} |"
        for target in found
    )


def _title(section: str) -> str:
    return section.partition("\n")[0].removeprefix("## ").strip()


def measured_with(software: str) -> str:
    machine = f"{os.cpu_count()} cores, {_memory_gib():.0f} GiB, {platform.system()} {platform.machine()}"
    python, own = f"Python {platform.python_version()}", f"Tidegate {version('tidegate')}"
    return f"Measured on {datetime.now(UTC):%Y-%m-%d}, {machine}; {python}, {software}, {own}."


def spark_version() -> str:
    from tidegate.spark.java import find_java

    return f"Java {find_java().version}, PySpark {version('pyspark')}"


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
