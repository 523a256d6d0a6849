"""The Spark of a run, which is started again when its JVM dies under the models: one of them may need more memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegate.config import Settings
from tidegate.errors import FailureKind, SparkDiedError, TidegateError
from tidegate.failures import causes
from tidegate.spark.jvm import running_jvm
from tidegate.spark.opening import open_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkOfRun"]

_MOST_RESTARTS = 2
"""The first, where several models ran and any may be to blame; the second, where one alone was."""

_DYING_SECONDS = 10.0
_MOMENT_SECONDS = 0.5
"""Any error may be the first that is seen of a JVM which was killed: PySpark wraps what it gets."""
_OUT_OF_MEMORY = 52
"""The exit code of Spark for an OutOfMemoryError."""

_SIGNS = (
    "SparkContext was shut down",
    "stopped SparkContext",
    "Py4JNetworkError",
    "Answer from Java side is empty",
    "Error while sending or receiving",
    "OutOfMemoryError",
)
"""What a model's failure says when the JVM is going, or gone; a source or a catalog that is down says none of it."""


class SparkOfRun:
    """Thread-safe. `root`: the session that the models' own are made from."""

    def __init__(self, root: SparkSession, settings: Settings, say: Callable[[str], None] = lambda line: None) -> None:
        self.root = root
        self._settings = settings
        self._say = say
        self._restarts = 0
        self._jvm = running_jvm()
        self._lock = threading.Lock()

    @property
    def died(self) -> bool:
        return self._jvm is not None and not self._jvm.alive

    def died_of(self, error: BaseException) -> bool:
        """Whether `error` comes from a JVM that has died. One that is out of memory takes a moment to end."""
        if self._jvm is None:
            return False
        if isinstance(error, TidegateError) and error.__cause__ is None:
            return self.died
        text = " ".join(f"{type(each).__name__}: {each}" for each in causes(error))
        return self._jvm.dies_within(_DYING_SECONDS if any(sign in text for sign in _SIGNS) else _MOMENT_SECONDS)

    def restart(self) -> bool:
        """False where it has died too often, or does not start again."""
        with self._lock:
            if not self.died:
                return True
            if self._restarts >= _MOST_RESTARTS:
                return False
            self._restarts += 1
            self._say(f"Spark's JVM ended ({self.why}); it is started again for the models that are left")
            try:
                self.root = open_spark(self._settings, self._say)
            except TidegateError:
                self._restarts = _MOST_RESTARTS
                return False
            self._jvm = running_jvm()
            return True

    @property
    def why(self) -> str:
        code = self._jvm.process.returncode if self._jvm is not None else None
        if code == _OUT_OF_MEMORY:
            return "out of memory"
        return f"killed by signal {-code}, as by a system short of memory" if code and code < 0 else f"exit code {code}"

    def error(self, message: str) -> SparkDiedError:
        memory = self._settings.spark.memory
        error = SparkDiedError(
            message,
            where=str(self._settings.root / ".tidegate" / "logs" / "spark.log"),
            remedy=f"Give Spark more memory ([spark] memory, now {memory}), run fewer models side by side"
            " ([run] concurrency), or let the model read or keep less at a time.",
        )
        error.kind = FailureKind.TRANSIENT  # with fewer models at a time there may be enough memory
        return error
