"""`make bench`: what runs and compiling cost, against a plain script and against dbt; writes docs/benchmarks.md."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from benchmarks.checks import CHECK_ROWS, check_targets, measure_checks
from benchmarks.chunks import CHUNK_ROWS, chunk_targets, measure_chunks
from benchmarks.commands import COMMAND_ROWS, SCENARIOS, CommandOptions, command_targets, measure_commands
from benchmarks.commands_report import command_section
from benchmarks.compiling import SIZES, measure_compiling, targets
from benchmarks.deltas import CELLS, Cell, delta_targets, measure_deltas
from benchmarks.idle import idle_targets, measure_idle
from benchmarks.profiles import PROFILE_ROWS, measure_profiles, profile_targets
from benchmarks.python_models import measure_python, python_targets
from benchmarks.report import (
    check_section,
    chunk_section,
    compile_section,
    delta_section,
    idle_section,
    memory_section,
    page,
    profile_section,
    python_section,
    silver_section,
    source_section,
)
from benchmarks.running import measure_memory
from benchmarks.silver import SILVER_ROWS, measure_silver, silver_targets
from benchmarks.source_batches import SOURCE_ROWS, batch_targets, measure_batches

ROOT = Path(__file__).parent.parent
REPORT = ROOT / "docs" / "benchmarks.md"
PARTS = ("checks", "chunks", "commands", "compile", "deltas", "idle", "memory", "profile", "python", "silver", "source")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", choices=PARTS, nargs="+", default=PARTS, help="measure these parts; the page keeps the others"
    )
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds (default 3)")
    parser.add_argument(
        "--rows",
        type=int,
        nargs="+",
        default=COMMAND_ROWS,
        help="commands: rows of the source (default 1 and 10 million)",
    )
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument("--scenario", choices=names, nargs="+", default=names, help="commands: measure these")
    parser.add_argument("--no-warm-up", action="store_true", help="commands: count the first round too")
    parser.add_argument(
        "--event-log", type=Path, metavar="FOLDER", help="commands: keep Spark's event logs of cold runs, and summaries"
    )
    parser.add_argument("--models", type=int, nargs="+", default=SIZES, help="compile: sizes (default 1000 10000)")
    parser.add_argument("--no-dbt", action="store_true", help="commands, compile, idle: leave dbt out")
    parser.add_argument(
        "--limit", type=float, default=900, help="commands, compile, idle: seconds that one call may take (default 900)"
    )
    parser.add_argument("--cells", nargs="+", help="deltas: sizes as ROWSxCOLUMNS, such as 1000000x5 (default: four)")
    parser.add_argument("--check-rows", type=int, default=CHECK_ROWS, help="checks: rows (default 5,000,000)")
    parser.add_argument("--chunk-rows", type=int, default=CHUNK_ROWS, help="chunks: rows (default 2,000,000)")
    parser.add_argument("--profile-rows", type=int, default=PROFILE_ROWS, help="profile: rows (default 2,000,000)")
    parser.add_argument("--source-rows", type=int, default=SOURCE_ROWS, help="source: rows (default 2,000,000)")
    parser.add_argument("--silver-rows", type=int, default=SILVER_ROWS, help="silver: rows (default 5,000,000)")
    parser.add_argument("--no-report", action="store_true", help="do not write docs/benchmarks.md")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # what was started ends too
    parts = options.only
    sections, missed = [], []
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        work = Path(folder)
        if "compile" in parts:
            measured = measure_compiling(work, options.models, options.rounds, options.limit, not options.no_dbt)
            sections.append(compile_section(measured, options.rounds))
            missed += [target.about for target in targets(measured) if not target.met]
        if "idle" in parts:
            idle = measure_idle(work, options.rounds, options.limit, not options.no_dbt)
            sections.append(idle_section(idle))
            missed += [target.about for target in idle_targets(idle) if not target.met]
        if "checks" in parts:
            times = measure_checks(work, options.check_rows, options.rounds)
            sections.append(check_section(times, options.check_rows))
            missed += [target.about for target in check_targets(times) if not target.met]
        if "profile" in parts:
            profiled = measure_profiles(work, options.profile_rows, options.rounds)
            sections.append(profile_section(profiled, options.profile_rows))
            missed += [target.about for target in profile_targets(profiled) if not target.met]
        if "python" in parts:
            python = measure_python(work, options.rounds)
            sections.append(python_section(python))
            missed += [target.about for target in python_targets(python) if not target.met]
        if "source" in parts:
            landed = measure_batches(work, options.source_rows, options.rounds)
            sections.append(source_section(landed, options.source_rows))
            missed += [target.about for target in batch_targets(landed) if not target.met]
        if "silver" in parts:
            validated = measure_silver(work, options.silver_rows, options.rounds)
            sections.append(silver_section(validated, options.silver_rows))
            missed += [target.about for target in silver_targets(validated) if not target.met]
        if "chunks" in parts:
            figures = measure_chunks(work, options.chunk_rows, options.rounds)
            sections.append(chunk_section(figures, options.chunk_rows))
            missed += [target.about for target in chunk_targets(figures) if not target.met]
        if "deltas" in parts:
            cells = [Cell(*map(int, text.split("x"))) for text in options.cells] if options.cells else CELLS
            deltas = measure_deltas(work, cells, options.rounds)
            sections.append(delta_section(deltas, options.rounds))
            missed += [target.about for target in delta_targets(deltas) if not target.met]
        if "commands" in parts:
            chosen = CommandOptions(
                rows=options.rows,
                rounds=options.rounds,
                scenarios=options.scenario,
                warm_up=not options.no_warm_up,
                with_dbt=not options.no_dbt,
                limit=options.limit,
                event_logs=options.event_log and options.event_log.absolute(),
            )
            commands = measure_commands(work, chosen)
            sections.append(command_section(commands, options.rounds, chosen.warm_up))
            missed += [target.about for target in command_targets(commands) if not target.met]
        if "memory" in parts:
            sections.append(memory_section(measure_memory(work)))
    for about in missed:
        print(f"Missed: {about}")
    if not options.no_report:
        before = REPORT.read_text(encoding="utf-8") if REPORT.exists() else ""
        REPORT.write_text(page(before, sections), encoding="utf-8")
        print(f"Wrote {REPORT.relative_to(ROOT)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
