"""`[sandbox]`: what Python of the project may do, and how much of the machine it may take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidegate.config.section_reader import Section

__all__ = ["SandboxSection", "read_sandbox"]

_GIB = 1 << 30
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class SandboxSection:
    mode: str = "sandbox"
    """`trusted`: the project's Python runs inside Tidegate's own process, and may do whatever that may."""

    trusted: tuple[str, ...] = ()
    """Files, or patterns of files, relative to the project, that are trusted although the mode is `sandbox`."""

    udfs: str = "sandbox"
    """`refuse`: a model that defines functions for Spark's workers fails."""

    imports: tuple[str, ...] = ()
    """Packages that models may import besides those that are always allowed."""

    cpu_time: timedelta = timedelta(minutes=10)
    timeout: timedelta = timedelta(minutes=30)
    """By the clock; a model's own `timeout` counts too."""

    memory: int = 2 * _GIB
    """Bytes of one model's process."""

    processes: int = 64
    """Processes and threads of one model."""

    file_size: int = 256 * _MIB
    """Bytes of a file that it writes into its own folder."""

    local_rows: int = 256 * _MIB
    """Bytes of rows that a model makes itself, or takes out of Spark, as with `toPandas()`."""

    def is_trusted(self, file: str) -> bool:
        """`file`: relative to the project."""
        from fnmatch import fnmatchcase

        return self.mode == "trusted" or any(fnmatchcase(file, pattern) for pattern in self.trusted)


def read_sandbox(section: Section) -> SandboxSection:
    default = SandboxSection()
    sandbox = SandboxSection(
        mode=section.choice("mode", ("sandbox", "trusted"), default.mode),
        trusted=section.texts("trusted"),
        udfs=section.choice("udfs", ("sandbox", "refuse"), default.udfs),
        imports=section.texts("imports"),
        cpu_time=section.duration("cpu_time", default.cpu_time),
        timeout=section.duration("timeout", default.timeout),
        memory=section.size("memory", default.memory),
        processes=section.integer("processes", default.processes, least=8),
        file_size=section.size("file_size", default.file_size),
        local_rows=section.size("local_rows", default.local_rows),
    )
    section.finish()
    return sandbox
