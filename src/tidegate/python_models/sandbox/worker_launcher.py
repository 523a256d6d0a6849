"""The Python that Spark's JVM starts for functions of the project: a daemon whose workers run behind the walls."""

from __future__ import annotations

import json
import shlex
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

from tidegate.config.sandbox_settings import SandboxSection
from tidegate.python_models.sandbox.readable_paths import package_paths
from tidegate.python_models.sandbox.wall_settings import wall_settings

__all__ = ["WORKER_CONF", "worker_python"]

WORKER_CONF: Mapping[str, str] = {
    "spark.python.use.daemon": "true",
    "spark.python.daemon.module": "pyspark.daemon",
    # A worker that ran the function of one model must not run that of another.
    "spark.python.worker.reuse": "false",
}
"""Settings of the JVM whose `PYSPARK_PYTHON` is the launcher."""

_BOOT = """\
import sys, json
settings = json.load(open(sys.argv[1]))
sys.path.extend(settings["packages"])
from tidegate.python_models.sandbox.worker_daemon import main
main(settings, sys.argv[2:])
"""

_KEPT_VARIABLES = (
    "TZ",
    "LANG",
    "LC_ALL",
    "OMP_NUM_THREADS",
    "PYTHON_UDF_BATCH_SIZE",
    "PYTHON_UNIX_DOMAIN_ENABLED",
    "PYTHON_WORKER_FACTORY_SECRET",
    "PYTHON_WORKER_FACTORY_SOCK_DIR",
    "SPARK_BUFFER_SIZE",
    "SPARK_HIDE_TRACEBACK",
    "SPARK_PREFER_IPV6",
    "SPARK_PYTHON_RUNTIME",
    "SPARK_SIMPLIFIED_TRACEBACK",
)
_VARIABLES = {
    "PATH": "/usr/bin:/bin",
    "LC_CTYPE": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "MALLOC_ARENA_MAX": "2",
}


def worker_python(section: SandboxSection, folder: Path, name: str = "tidegate-python") -> Path:
    """A program to be the JVM's `PYSPARK_PYTHON`, in `folder`, which must last as long as the JVM.

    It takes nothing of the JVM's environment but what workers need.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "workers.json"
    _replace(settings, json.dumps({"packages": package_paths(section.imports), **wall_settings(section, folder)}))
    launcher = folder / name
    _replace(launcher, _script(settings.absolute()))
    return launcher.absolute()


def _replace(path: Path, text: str) -> None:
    """At once: another run of the project may read it."""
    new = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    new.write_text(text)
    new.chmod(0o700)
    new.replace(path)


def _script(settings: Path) -> str:
    kept = " ".join(f'${{{name}:+"{name}=${name}"}}' for name in _KEPT_VARIABLES)
    fixed = " ".join(f"{name}={shlex.quote(value)}" for name, value in _VARIABLES.items())
    python = f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(_BOOT)} {shlex.quote(str(settings))}"
    return f'#!/bin/sh\nexec env -i {fixed} {kept} {python} "$@"\n'
