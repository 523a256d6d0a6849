"""The modules that Python that is not trusted may import, and what it may use of each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from types import ModuleType

__all__ = ["LIBRARIES", "STANDARD_MODULES", "is_known_module", "library_modules", "names_of"]

STANDARD_MODULES: Mapping[str, frozenset[str]] = {
    name: frozenset(refused.split())
    for name, refused in {
        "__future__": "",
        "abc": "ABCMeta get_cache_token update_abstractmethods",
        "base64": "",
        "binascii": "",
        "bisect": "",
        "calendar": "",
        "cmath": "",
        "collections": "",
        "collections.abc": "",
        "contextlib": "",
        "copy": "",
        "csv": "",
        "dataclasses": "make_dataclass",
        "datetime": "",
        "decimal": "",
        "difflib": "",
        "enum": "EnumMeta EnumType global_enum global_enum_repr",
        "fractions": "",
        "functools": "singledispatch singledispatchmethod update_wrapper WRAPPER_ASSIGNMENTS WRAPPER_UPDATES",
        "hashlib": "file_digest",
        "heapq": "",
        "hmac": "",
        "itertools": "",
        "json": "",
        "math": "",
        "numbers": "",
        "operator": "attrgetter methodcaller",
        "random": "",
        "re": "",
        "secrets": "",
        "statistics": "",
        "string": "Formatter",
        "struct": "",
        "textwrap": "",
        "time": "clock_settime clock_settime_ns pthread_getcpuclockid tzset",
        "typing": "ForwardRef get_type_hints evaluate_forward_ref",
        "unicodedata": "",
        "uuid": "getnode uuid1 uuid6 main",
        "zlib": "",
        "zoneinfo": "reset_tzpath TZPATH",
    }.items()
}
"""With the public names that are refused: they run texts as code, or reach attributes or files by their names."""

LIBRARIES = ("numpy", "pandas", "pyarrow", "pyspark", "tidegate")


@cache
def _library_names() -> Mapping[str, frozenset[str]]:
    text = files("tidegate.compiler.python_code").joinpath("library_names.toml").read_text("utf-8")
    return {module: frozenset(entry["names"].split()) for module, entry in tomllib.loads(text).items()}


def library_modules() -> tuple[str, ...]:
    """Those that are not of Python itself."""
    return tuple(_library_names())


@cache
def is_known_module(name: str) -> bool:
    return name in STANDARD_MODULES or name in _library_names()


@cache
def names_of(module: str) -> frozenset[str]:
    """What may be used of a known module, without the modules below it."""
    if module not in STANDARD_MODULES:
        return _library_names()[module]
    loaded = import_module(module)
    listed = getattr(loaded, "__all__", None) or (name for name in vars(loaded) if not name.startswith("_"))
    public = {name for name in listed if not isinstance(getattr(loaded, name, None), ModuleType)}
    return frozenset(public) - STANDARD_MODULES[module]
