"""What the syntax tree of a Python model says about its result."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache

from tidegate.compiler.sql.function_calls import NEVER_THE_SAME, TIME_WORDS
from tidegate.project import Place
from tidegate.project.python_source import PythonSource

__all__ = ["change_in_code", "code_definition", "version_of_package"]

_OWN = frozenset({"tidegate"})
_MODULES = frozenset({"random", "secrets", "time", "uuid"})
_MOMENTS = frozenset({"today", "utcnow"})
_SAMPLES = frozenset({"sample", "sampleby", "randomsplit", "random_split"})
_CHANGING = NEVER_THE_SAME | TIME_WORDS | _MOMENTS | _SAMPLES


def change_in_code(python: PythonSource) -> tuple[str, Place] | None:
    """What makes it give other rows another time, and where: a module, or a function by its name alone. What only has
    such a name counts too: its table is built more often than needed, and never too seldom."""
    for module in python.imports:
        if module.package in _MODULES:
            return f"module {module.package}", module.place
    for call in python.calls:
        if call.name in _CHANGING:
            return f"{call.name}()", call.place
    return None


def code_definition(python: PythonSource, variables: Mapping[str, object]) -> tuple[str, ...]:
    """What the rows depend on besides the inputs: the code, the versions of the packages that it imports, and the
    variables of the project that it uses."""
    used = {name: value for name, value in variables.items() if python.variables is None or name in python.variables}
    values = (f"{name} {json.dumps(value, sort_keys=True, default=repr)}" for name, value in sorted(used.items()))
    return (python.digest, *_packages(python), *values)


def _packages(python: PythonSource) -> Iterator[str]:
    """Those of Python itself have no version of their own."""
    for package in sorted({module.package for module in python.imports} - _OWN - sys.stdlib_module_names - {""}):
        yield f"{package} {version_of_package(package)}"


@lru_cache(maxsize=256)
def version_of_package(package: str) -> str:
    """Of what the package belongs to; empty where it is not installed."""
    from importlib import metadata  # only here: few projects have Python models

    try:
        return metadata.version(package)
    except (metadata.PackageNotFoundError, ValueError):
        owners = metadata.packages_distributions().get(package, [])
        return ", ".join(f"{name} {metadata.version(name)}" for name in sorted(set(owners)))
