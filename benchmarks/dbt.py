"""dbt in an environment of its own, made once and kept in the cache folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from tidegate.config.paths import cache_folder
from tidegate.spark.java import find_java

__all__ = [
    "dbt_command",
    "dbt_environment",
    "dbt_project",
    "dbt_version",
    "session_environment",
    "session_profile",
]

REQUIREMENTS = Path(__file__).parent / "dbt-requirements.txt"
_FINISHED = ".installed"
_INSTALL_SECONDS = 900


def dbt_command(command: str) -> list[str]:
    """`dbt command` of the environment for these requirements and this Python; it is made if it is not there."""
    key = f"{sys.version_info.major}.{sys.version_info.minor}\n{REQUIREMENTS.read_text()}"
    folder = cache_folder() / "benchmarks" / f"dbt-{sha256(key.encode()).hexdigest()[:12]}"
    if not (folder / _FINISHED).exists():
        _install(folder)
    return [str(folder / "bin" / "dbt"), command]


def dbt_environment(project: Path) -> Mapping[str, str]:
    """No network, and the profile that lies in the project."""
    return {**os.environ, "DBT_PROFILES_DIR": str(project), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}


def session_environment(project: Path) -> Mapping[str, str]:
    """With this environment's PySpark, and nothing else of it, and the Java that Tidegate uses."""
    libraries = project / "libraries"
    libraries.mkdir(exist_ok=True)
    for name in ("pyspark", "py4j"):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed; --no-dbt measures without the comparison")
        if not (libraries / name).exists():
            (libraries / name).symlink_to(Path(spec.origin).parent)
    return {**dbt_environment(project), "PYTHONPATH": str(libraries), "JAVA_HOME": str(find_java().home)}


def session_profile(conf: Mapping[str, str]) -> str:
    """profiles.yml: Spark in dbt's own process, with these settings."""
    parameters = "".join(f"        {key}: {json.dumps(value)}\n" for key, value in conf.items())
    return _PROFILE.format(threads=os.cpu_count(), parameters=parameters)


def dbt_project(**config: str) -> str:
    """dbt_project.yml: every model is a table. `config`: more that holds for all of them."""
    return _PROJECT.format(config="".join(f"    +{key}: {value}\n" for key, value in config.items()))


def dbt_version() -> str:
    pinned = dict(re.findall(r"^(dbt-core|dbt-spark)==(\S+)$", REQUIREMENTS.read_text(), re.MULTILINE))
    return f"dbt-core {pinned['dbt-core']}, dbt-spark {pinned['dbt-spark']}"


_PROFILE = """\
bench:
  target: here
  outputs:
    here:
      type: spark
      method: session
      host: none
      schema: bench
      threads: {threads}
      server_side_parameters:
{parameters}"""

_PROJECT = """\
name: bench
version: "1.0"
config-version: 2
profile: bench
model-paths: [models]
models:
  bench:
    +materialized: table
{config}flags:
  send_anonymous_usage_stats: false
"""


def _install(folder: Path) -> None:
    print(f"Installing dbt into {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(folder))
    _run(str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS))
    (folder / _FINISHED).touch()


def _run(*command: str) -> None:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(command, env=environment, timeout=_INSTALL_SECONDS, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}; --no-dbt measures without the comparison")
