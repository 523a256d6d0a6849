"""`tg`: what the code of a Python model is given. The same object in the sandbox and in Tidegate's own process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from tidegate.errors import QueryError
from tidegate.python_inputs import ReadKind, handle_of
from tidegate.python_models.current_model import NOT_IN_WORKERS

__all__ = ["CallFacts", "ModelApi", "ModelPort"]

_Model = TypeVar("_Model", bound=Callable[..., Any])

_REQUIRED: Any = object()


class ModelPort(Protocol):
    """What differs between the sandbox and Tidegate's own process."""

    def frame(self, handle: str) -> Any:
        """The Spark DataFrame of an input."""

    def sql(self, text: str) -> Any:
        """The DataFrame of one SELECT over the inputs."""

    def log(self, message: str) -> None: ...


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call of a model, as JSON values: they cross the wall of the sandbox."""

    model: str
    file: str
    namespace: str
    """Of names that are written without one."""

    run_started_at: str
    strategy: str = ""
    """Empty for functions and checks."""

    handles: tuple[str, ...] = ()
    """All that the code may read, see `handle_of`."""

    incremental: bool = False
    watermark_value: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "file": self.file,
            "namespace": self.namespace,
            "strategy": self.strategy,
            "handles": list(self.handles),
            "run_started_at": self.run_started_at,
            "incremental": self.incremental,
            "watermark_value": self.watermark_value,
            "start_date": self.start_date,
            "end_date": self.end_date,
            "vars": dict(self.vars),
        }

    @staticmethod
    def of(document: Mapping[str, Any]) -> CallFacts:
        return CallFacts(**{**document, "handles": tuple(document["handles"])})


class ModelApi:
    """Every read gives a Spark DataFrame."""

    def __init__(self, facts: CallFacts, port: ModelPort) -> None:
        self._facts = facts
        self._port = port

    def model(self, function: _Model | None = None, /, **settings: Any) -> Any:
        """A decorator: the settings of the model, as literal values. They were read from the file before it runs."""
        return function if function is not None else lambda decorated: decorated

    def ref(self, name: str) -> Any:
        """All rows of a table. An append_only model that is built again gets them too."""
        return self._read(ReadKind.REF, name)

    def changes(self, name: str) -> Any:
        """The rows of a table that changed since the model was built last, with `_change_type`: insert,
        update_preimage, update_postimage or delete. A model that is built from all rows gets each as an insert."""
        return self._read(ReadKind.CHANGES, name)

    def landing_zone(self, name: str, **settings: Any) -> Any:
        """The rows of a landing zone's files, only of new ones where the strategy takes no file twice. `settings`: how
        the files are read, as literal values, which were read from the file before it runs."""
        return self._read(ReadKind.LANDING_ZONE, name)

    def this(self) -> Any:
        """The model's own table, as it is before this run."""
        handle = handle_of(ReadKind.THIS)
        if handle not in self._facts.handles:
            raise QueryError(
                f"tg.this(): {self._facts.model} has no table yet",
                remedy="Call it only where tg.is_incremental() is true, or where the table is known to exist.",
            )
        return self._port.frame(handle)

    def sql(self, query: str) -> Any:
        """One SELECT over the tables that the model reads, by their names."""
        if not isinstance(query, str):
            raise QueryError(f"tg.sql takes the text of a query, not {type(query).__name__}")
        return self._port.sql(query)

    @property
    def watermark_value(self) -> str | None:
        """The newest value of the watermark column in the table, as text; None where all rows are to be read."""
        return self._facts.watermark_value

    @property
    def run_started_at(self) -> datetime:
        """In UTC."""
        return _in_utc(self._facts.run_started_at)

    @property
    def start_date(self) -> datetime:
        """The start of the interval that is built, in UTC; of strategy time_interval only."""
        return self._date(self._facts.start_date, "start_date")

    @property
    def end_date(self) -> datetime:
        """The end of the interval, which is not part of it."""
        return self._date(self._facts.end_date, "end_date")

    def is_incremental(self) -> bool:
        """The table exists, and is not rebuilt."""
        return self._facts.incremental

    def is_scd2(self) -> bool:
        return self._facts.strategy == "scd2"

    def var(self, name: str, default: Any = _REQUIRED) -> Any:
        """A variable of the project, or of --var."""
        if name in self._facts.vars:
            return self._facts.vars[name]
        if default is _REQUIRED:
            raise QueryError(
                f"tg.var('{name}'): there is no such variable",
                remedy=f"Set it in [vars] or with --var {name}=…, or give a default: tg.var('{name}', …).",
            )
        return default

    def log(self, message: object) -> None:
        """A line of the run's log."""
        self._port.log(str(message))

    def _date(self, text: str | None, name: str) -> datetime:
        if text is None:
            remedy = "Use it in a model of strategy time_interval."
            raise QueryError(f"tg.{name} has no value in this run", remedy=remedy)
        return _in_utc(text)

    def _read(self, kind: ReadKind, name: str) -> Any:
        call = f"tg.{kind}({name!r})"
        if not isinstance(name, str):
            raise QueryError(f"{call}: the name is a text")
        handle = handle_of(kind, name, self._facts.namespace)
        if handle not in self._facts.handles:
            others = [other.partition(" ")[2] for other in self._facts.handles if other.startswith(f"{kind} ")]
            raise QueryError(
                f"{call}: the model does not declare that it reads this"
                + (f"; it declares {', '.join(others)}" if others else ""),
                remedy=f"Write the name as a text in the call itself, or add `# @depends_on: {name}` to the file.",
            )
        return self._port.frame(handle)

    def __reduce__(self) -> Any:
        raise TypeError(NOT_IN_WORKERS)


def _in_utc(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
