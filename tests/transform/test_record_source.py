"""What a process of Spark imports before it reads the first record."""

from __future__ import annotations

import subprocess
import sys


def test_it_is_little() -> None:
    code = "import sys, tidegate.transform.landing.record_source; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert not imported & {"sqlglot", "tidegate.compiler", "tidegate.project", "tidegate.contracts", "tidegate.lake"}
