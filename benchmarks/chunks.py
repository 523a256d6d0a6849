"""A large file of JSON lines through chunk, process and load, against one Spark job and against pydantic row by row."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chunk_sides import CONTRACT
from benchmarks.compiling import Target

__all__ = ["CHUNK_ROWS", "ChunkFigures", "chunk_targets", "measure_chunks"]

CHUNK_ROWS = 2_000_000
FEW_ROWS = 100_000
BATCHES = {"chunks": 100_000, "large": 1_000_000}
"""Rows of a MERGE: the default, and a larger one."""

MOST_OF_PLAIN = {"chunks": 4.0, "large": 2.0}
MOST_MIB = 500.0

ChunkFigures = Mapping[str, Sequence[Mapping[str, Any]]]
"""By side (`few`: pydantic with fewer rows), of each round: `seconds`, `rows`, `python_mib` (the most that the Python
process held), and for chunked loads `merges` and the seconds of each job."""

_ROOT = Path(__file__).parent.parent
_TOML = """\
[project]
name = "bench"
[chunks]
delta_client_batch_size = {batch}
[chunks.sources.orders]
contract = "orders.odcs.yml"
pattern = "orders.json"
"""


def measure_chunks(work: Path, rows: int, rounds: int) -> ChunkFigures:
    """Every side in a process of its own, which starts its own Spark. The first round only warms up."""
    source = work / "chunks"
    source.mkdir(parents=True)
    _side("write", source, rows)
    few = work / "chunks-few"
    few.mkdir()
    _side("write", few, min(rows, FEW_ROWS))
    figures: dict[str, list[Mapping[str, Any]]] = {}
    for number in range(rounds + 1):
        for side in ("plain", *BATCHES):
            figure = _measured(work, source, side, rows)
            print(f"{f'Round {number}' if number else 'Warm-up'}, {side}: {figure['seconds']:.1f} s", flush=True)
            if number:
                figures.setdefault(side, []).append(figure)
    figures["pydantic"] = [_side("pydantic", source, rows)]
    figures["few"] = [_side("pydantic", few, min(rows, FEW_ROWS))]
    return figures


def chunk_targets(figures: ChunkFigures) -> list[Target]:
    plain = statistics.median(figure["seconds"] for figure in figures["plain"])
    times = [
        Target(
            f"chunk, process and load in batches of {BATCHES[side]:,} rows against one Spark job",
            statistics.median(figure["seconds"] for figure in figures[side]) / plain,
            most,
        )
        for side, most in MOST_OF_PLAIN.items()
    ]
    peak = max(figure["python_mib"] for side in BATCHES for figure in figures[side])
    return [*times, Target("memory of the Python process at most", peak, MOST_MIB, " MiB")]


def _measured(work: Path, source: Path, side: str, rows: int) -> Mapping[str, Any]:
    folder = work / "chunks-round"
    folder.mkdir()
    try:
        if side == "plain":
            os.link(source / "orders.json", folder / "orders.json")
            return _side("plain", folder, rows)
        (folder / "bronze").mkdir()
        os.link(source / "orders.json", folder / "bronze/orders.json")
        (folder / "tidegate.toml").write_text(_TOML.format(batch=BATCHES[side]))
        (folder / "orders.odcs.yml").write_text(CONTRACT)
        return _side("chunks", folder, rows)
    finally:
        shutil.rmtree(folder)


def _side(side: str, folder: Path, rows: int) -> Mapping[str, Any]:
    command = [sys.executable, "-m", "benchmarks.chunk_sides", side, str(folder), str(rows)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src")])}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    figure: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figure
