"""What a process that puts up walls needs to know, as JSON; and the files and folders that it uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidegate.config.sandbox_settings import SandboxSection
from tidegate.python_models.sandbox.readable_paths import readable_paths

__all__ = ["wall_settings"]


def wall_settings(section: SandboxSection, folder: Path) -> dict[str, Any]:
    """`limits` are those of `JobLimits`, the others as `WallPlan` has them."""
    folder = folder.absolute()
    root, scratch, canary = (folder / name for name in ("root", "scratch", "canary"))
    root.mkdir(exist_ok=True)
    scratch.mkdir(exist_ok=True)
    canary.write_text("no job may read this\n")
    return {
        "readable": readable_paths(section.imports),
        "root": str(root),
        "scratch": str(scratch),
        "canary": str(canary),
        "limits": {
            "cpu_seconds": section.cpu_time.total_seconds(),
            "memory": section.memory,
            "processes": section.processes,
            "file_size": section.file_size,
        },
    }
