"""What a job may read: Python, its packages, shared libraries, time zones and locales. Nothing of the project."""

from __future__ import annotations

import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["mapped_libraries", "package_paths", "readable_paths"]

_NEEDED = ("tidegate", "pyspark", "pandas", "numpy", "pyarrow", "grpc", "google.protobuf")
_SYSTEM = (
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/share/zoneinfo",
    "/usr/share/locale",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/timezone",
)


def package_paths(imports: Iterable[str]) -> list[str]:
    """Where the zygote looks for packages: those folders of this process' path that have what it needs."""
    folders = [os.path.abspath(folder) for folder in site.getsitepackages()]
    for name in (*_NEEDED, *imports):
        if (place := _place(name)) is not None:
            folders.append(str(place.parents[name.count(".")]))
    order = [os.path.abspath(entry) for entry in sys.path if entry]
    found = list(dict.fromkeys(folder for folder in folders if os.path.isdir(folder)))
    return sorted(found, key=lambda folder: order.index(folder) if folder in order else len(order))


def readable_paths(imports: Sequence[str]) -> list[str]:
    """Files and folders, with all that is below them."""
    paths = [path for path in _SYSTEM if os.path.exists(path)]
    paths += [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.__file__)]
    if sys.base_prefix != "/usr":
        paths += [os.path.join(sys.base_prefix, name) for name in ("lib", "lib64")]
    folders = package_paths(imports)
    whole = {folder for folder in folders if _is_package_folder(folder)}
    for name in (*_NEEDED, *imports):
        place = _place(name)
        if place is not None and str(place.parents[name.count(".")]) not in whole:
            paths.append(str(place))
    return [os.path.abspath(path) for path in dict.fromkeys([*paths, *sorted(whole)]) if os.path.exists(path)]


def mapped_libraries() -> list[str]:
    """The shared libraries that this process has loaded, wherever they are."""
    with open("/proc/self/maps") as file:
        files = {line.split(maxsplit=5)[5].strip() for line in file if line.count("/") and " r-xp " in line}
    return sorted(path for path in files if ".so" in os.path.basename(path) and os.path.exists(path))


def _place(name: str) -> Path | None:
    """Of a package its folder, of a module its file."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(os.path.abspath(next(iter(spec.submodule_search_locations))))
    return Path(os.path.abspath(spec.origin)) if spec.origin and os.path.exists(spec.origin) else None


def _is_package_folder(folder: str) -> bool:
    """Of installed packages; another one may be a project whose package is used as it is."""
    return any(name.endswith(".dist-info") for name in os.listdir(folder))
