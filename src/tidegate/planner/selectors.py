"""One selector without its operators, `silver.orders`, `tag:daily`, `path:models/gold`, `state:modified` → models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from tidegate.compiler import Compiled
from tidegate.errors import SelectionError
from tidegate.names import TableName, nearest
from tidegate.planner.model_states import ModelStates
from tidegate.planner.selector_words import METHODS, STATES

__all__ = ["Selectors", "ambiguous_name"]

_LIST = "list the models with `tidegate ls`"
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Selectors:
    """`states` reads what main records; None where no lake is at hand."""

    compiled: Compiled
    states: Callable[[], ModelStates] | None = None

    def find(self, selector: str, pattern: str) -> set[TableName]:
        """Raises SelectionError where no model is meant, with what may have been. `pattern`: all that was written.

        Only a state may be that of no model.
        """
        method, colon, value = selector.partition(":")
        if not colon and "/" in selector:
            method, value = "path", selector
        elif not colon:
            return self._by_name(selector, pattern)
        if method == "tag":
            return self._by_tag(value, pattern)
        if method == "path":
            return self._by_path(value, pattern)
        if method == "state":
            return self._by_state(value, pattern)
        known = ", ".join(f"{name}:" for name in sorted(METHODS))
        close = _meant(f"{name}:{value}" for name in nearest(method, METHODS))
        raise SelectionError(f"nothing is selected by '{method}:'", where=pattern, remedy=close or f"known are {known}")

    def _by_name(self, name: str, pattern: str) -> set[TableName]:
        compiled, parts = self.compiled, name.lower().split(".")
        if len(parts) == 1 and name:
            return self._by_last_part(name, pattern)
        if len(parts) == 2:
            parts = [compiled.namespace.lower(), *parts]
        if len(parts) == 3:
            namespace, layer, last = parts
            tables = {
                table
                for table in compiled.models
                if fnmatchcase(table.namespace.lower(), namespace)
                and fnmatchcase(table.layer.lower(), layer)
                and fnmatchcase(table.name.lower(), last)
            }
            if tables:
                return tables
        raise self._no_such_name(name, pattern)

    def _by_last_part(self, name: str, pattern: str) -> set[TableName]:
        """A name without its layer. One with wildcards may mean several models, any other means one."""
        tables = {table for table in self.compiled.models if fnmatchcase(table.name.lower(), name.lower())}
        if not tables:
            raise self._no_such_name(name, pattern)
        if len(tables) > 1 and not _WILD & set(name):
            names = sorted(map(self._short, tables))
            raise ambiguous_name(name, names, where=pattern)
        return tables

    def _by_tag(self, tag: str, pattern: str) -> set[TableName]:
        tags = {table: model.model.settings.tags for table, model in self.compiled.models.items()}
        tables = {table for table, own in tags.items() if any(fnmatchcase(t.lower(), tag.lower()) for t in own)}
        if not tables:
            known = {name for names in tags.values() for name in names}
            close = _meant(f"tag:{name}" for name in nearest(tag, known))
            raise _nothing(pattern, close or f"tags in use: {', '.join(sorted(known)) or 'none'}")
        return tables

    def _by_path(self, path: str, pattern: str) -> set[TableName]:
        """A file, a folder with all below it, or a pattern of files."""
        wanted = str(PurePosixPath(path)) if path else ""
        files = {table: model.model.file for table, model in self.compiled.models.items()}
        tables = {t for t, file in files.items() if wanted == "." or _is_at(file, wanted)} if wanted else set()
        if not tables:
            folders = {str(folder) for file in files.values() for folder in PurePosixPath(file).parents}
            close = _meant(f"path:{name}" for name in nearest(wanted, {*files.values(), *folders} - {"."}))
            raise _nothing(pattern, close or "paths are relative to the project's folder: path:models/silver")
        return tables

    def _by_state(self, state: str, pattern: str) -> set[TableName]:
        if state not in STATES:
            known = " and ".join(f"state:{name}" for name in STATES)
            close = _meant(f"state:{name}" for name in nearest(state, STATES))
            raise SelectionError(f"there is no state '{state}'", where=pattern, remedy=close or f"known are {known}")
        if self.states is None:
            message = "a state cannot be selected here, where the lake is not read"
            raise SelectionError(message, where=pattern, remedy="name models, tags or paths")
        return set(getattr(self.states(), state))

    def _no_such_name(self, name: str, pattern: str) -> SelectionError:
        compiled = self.compiled
        if any(name.lower() in (self._short(table).lower(), table.name.lower()) for table in compiled.broken):
            return SelectionError(f"'{name}' has errors", where=pattern, remedy="`tidegate compile` shows them")
        if layers := {table.layer for table in compiled.models if table.layer.lower() == name.lower()}:
            return _nothing(pattern, f"'{name}' is a layer; all its models are '{min(layers)}.*'")
        names = {self._short(table): table for table in compiled.models}
        last = name.rpartition(".")[2].lower()
        close = nearest(name, names) or tuple(sorted(n for n, table in names.items() if table.name.lower() == last)[:3])
        if not close and "." not in name:
            close = nearest(name, {table.name for table in compiled.models})
        return _nothing(pattern, _meant(close) or _LIST)

    def _short(self, table: TableName) -> str:
        return table.short(self.compiled.namespace)


def _is_at(file: str, wanted: str) -> bool:
    return file == wanted or file.startswith(f"{wanted}/") or fnmatchcase(file, wanted)


def ambiguous_name(name: str, meant: Sequence[str], where: str | None = None) -> SelectionError:
    """A name without its layer that several models have: `meant`."""
    message = f"'{name}' is the name of {len(meant)} models: {', '.join(meant)}"
    return SelectionError(message, where=where, remedy=f"Name its layer: {' or '.join(meant[:3])}.")


def _nothing(pattern: str, remedy: str) -> SelectionError:
    return SelectionError(f"'{pattern}' selects no model", where=pattern, remedy=remedy)


def _meant(names: Iterable[str]) -> str | None:
    listed = " or ".join(names)
    return f"did you mean {listed}?" if listed else None
