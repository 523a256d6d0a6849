"""Escapes as models of a project: what each ended in, and what it carried out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.projects import ProjectFolder
from tests.python_models.escapes.plants import Plants
from tests.python_models.escapes.programs import EscapeProgram
from tidegate.compiler.compiled import DiagnosticSeverity
from tidegate.compiler.project_compiler import compile_project
from tidegate.project.loading import load_project
from tidegate.spark.session import open_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Attempt", "PlantedShop"]

_LIMITS = 'timeout = "15s"\ncpu_time = "5s"\n'

_BYSTANDER = "def model(tg):\n    return tg.ref('silver.orders')\n"
"""A model beside them, which fails with none of them."""

_AT_ONCE = 40
"""Programs of one run."""


@dataclass(frozen=True, slots=True)
class Attempt:
    program: EscapeProgram
    ended: str
    """diagnostic, failed or completed."""

    said: str
    """Everything that is shown of it: messages, events, rows."""


class PlantedShop:
    """A project with a table that every escape may read and one that none has declared."""

    def __init__(self, root: Path, plants: Plants, spark: SparkSession) -> None:
        self.plants = plants
        self.folder = ProjectFolder(root, spark)
        self._toml = (root / "tidegate.toml").read_text()
        self._settings("sandbox")
        self.folder.model("silver.orders", "SELECT id, CAST(id AS STRING) AS name FROM range(3)")
        self.folder.model("silver.secrets", f"SELECT '{plants.table}' AS secret")
        assert self.folder.run().status == "success"
        self._head = self._other_table()
        files = next((root / ".tidegate" / "warehouse").rglob("secrets*"))
        self.placeholders = plants.placeholders(root, files, _connect_port(spark))
        self._known = set(plants.found_in_files(root))
        """Files that hold the secret of the other table: its own, and the code of its model."""

    def attempts(self, programs: Iterable[EscapeProgram], mode: str = "sandbox") -> tuple[list[Attempt], list[str]]:
        """What came of each, and all that shows that one got out."""
        self._settings(mode)
        ended: list[Attempt] = []
        leaks: list[str] = []
        every = list(programs)
        for start in range(0, len(every), _AT_ONCE):
            part = every[start : start + _AT_ONCE]
            done = self._run(part)
            ended += done
            for one in done:
                if found := self.plants.found_in(one.said):
                    leaks.append(f"{one.program} shows {', '.join(found)}: {one.said[:500]}")
            names = ", ".join(map(str, part))
            leaks += [f"{what}, by one of {names}" for what in self._damage()]
        return ended, leaks

    def diagnosed(self, programs: Sequence[EscapeProgram]) -> dict[EscapeProgram, str]:
        """Those that `tidegate compile` refuses, with the messages."""
        files = {path: program for program in programs for path in self._write(program)}
        settings = self.folder.settings
        compiled = compile_project(load_project(settings), settings, self.folder.main.heads(), {})
        found: dict[EscapeProgram, str] = {}
        for diagnostic in compiled.diagnostics:
            if diagnostic.severity is DiagnosticSeverity.ERROR and diagnostic.span is not None:
                program = files[diagnostic.span.file]
                found[program] = f"{found.get(program, '')}{diagnostic.code}: {diagnostic.message}\n"
        return found

    def _run(self, programs: Sequence[EscapeProgram]) -> list[Attempt]:
        for folder in ("models/gold", "lib"):
            shutil.rmtree(self.folder.root / folder, ignore_errors=True)
        self.folder.file("models/gold/bystander.py", _BYSTANDER)
        refused = self.diagnosed(programs)
        for program in refused:
            for path in self._files(program):
                (self.folder.root / path).unlink()
        self.folder.events.clear()
        result = self.folder.run("gold.*", full_refresh=True)
        self.folder.spark = open_spark(self.folder.settings)  # one that took all memory may have cost the former
        models = {one.model: one for one in result.materializations}
        bystander = models["gold.bystander"]
        assert bystander.status == "completed", f"{bystander.error} {result.error}"
        shown = self._shown(name for name, one in models.items() if one.status == "completed")
        ended = [Attempt(program, "diagnostic", message) for program, message in refused.items()]
        for program in programs:
            if program not in refused:
                model = models[f"gold.{program.table}"]
                said = f"{replace(model)}\n{shown.get(model.model, '')}"
                events = [event for event in self.folder.events if event.model == model.model]
                ended.append(Attempt(program, model.status, said + "\n".join(map(str, events))))
        return ended

    def _shown(self, tables: Iterable[str]) -> dict[str, str]:
        rows = self.folder.rows_of(*tables)
        return {table: json.dumps(found[:1000], default=str) for table, found in rows.items()}

    def _damage(self) -> list[str]:
        damage = self.plants.damage()
        self.plants.reset()
        if self._other_table() != self._head:
            damage.append("a change of the other table")
        written = set(self.plants.found_in_files(self.folder.root)) - self._known
        self._known |= written
        return damage + [f"a secret in {path}" for path in sorted(written)]

    def _other_table(self) -> object:
        heads = {table.short("shop"): head for table, head in self.folder.main.heads().items()}
        return heads.get("silver.secrets"), self.folder.rows("silver.secrets")

    def _settings(self, mode: str) -> None:
        self.folder.file("tidegate.toml", f'{self._toml}\n[sandbox]\nmode = "{mode}"\n{_LIMITS}')

    def _write(self, program: EscapeProgram) -> list[str]:
        path, *callers = self._files(program)
        target = self.folder.file(path, "")
        target.write_bytes(program.source({**self.placeholders, "FUNCTION_NAME": program.table}).encode())
        for caller in callers:
            self.folder.file(caller, f"SELECT * FROM {program.table}()\n")
        return [path, *callers]

    @staticmethod
    def _files(program: EscapeProgram) -> list[str]:
        """Its own file, and a model that calls it where it is none."""
        if program.kind == "function":
            return [f"lib/{program.table}.py", f"models/gold/{program.table}.sql"]
        return [f"models/gold/{program.table}.py"]


def _connect_port(spark: SparkSession) -> int:
    from tidegate.spark.connect_server import connect_server

    return int(connect_server(spark).address.rpartition(":")[2])
