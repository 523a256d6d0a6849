from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tidegate.config.sandbox_settings import SandboxSection
from tidegate.python_models.sandbox.sandbox import Sandbox
from tidegate.python_models.sandbox.sandbox_job import RefuseCalls, SandboxJob

MIB = 1 << 20
SMALL = SandboxSection(
    cpu_time=timedelta(seconds=1),
    timeout=timedelta(seconds=30),
    memory=128 * MIB,
    processes=16,
    file_size=4 * MIB,
    local_rows=4 * MIB,
)
PRELOAD = ("tidegate.python_models.child_jobs", "pandas", "pyarrow")
FILE = "models/silver/x.py"


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(SMALL, tmp_path_factory.mktemp("sandbox"), PRELOAD) as sandbox:
        yield sandbox


def run_script(sandbox: Sandbox, source: str, **options: Any) -> Any:
    """The value of its global `result`."""
    values = options.pop("values", {})
    calls = options.pop("calls", RefuseCalls())
    return sandbox.run(SandboxJob("script", FILE, source, values), calls, **options).value


@contextlib.contextmanager
def own_sandbox(folder: Path, without: Sequence[str] = ()) -> Iterator[Sandbox]:
    with Sandbox(SMALL, folder, PRELOAD[:1], without) as sandbox:
        yield sandbox
