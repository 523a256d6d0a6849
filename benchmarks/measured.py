"""Runs `tidegate` and reports how much memory the Python process took at most.

python -m benchmarks.measured REPORT ARGUMENTS…
"""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

from tidegate.cli.main import run_cli


def peak_kib() -> int:
    """Of this process alone, not of its JVM. `ru_maxrss` may still know the parent's peak, so ask the kernel first."""
    status = Path("/proc/self/status")
    if status.exists() and (match := re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)):
        return int(match.group(1))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


if __name__ == "__main__":
    code = run_cli(sys.argv[2:])
    Path(sys.argv[1]).write_text(str(peak_kib()))
    sys.exit(code)
