"""What one model may read: the secret views behind the names that its code writes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from tidegate.names import quote
from tidegate.python_inputs import ReadKind, handle_of
from tidegate.python_models.connect.plan_functions import refusal
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError

__all__ = ["DATABASE", "GrantedViews", "qualified"]

DATABASE = "global_temp"
"""Of Spark's global temporary views."""

_PLAIN = re.compile(r"\w+", re.ASCII)
_SHOWN = 10


class GrantedViews:
    def __init__(self, grants: Mapping[str, str], namespace: str) -> None:
        if wrong := [view for view in grants.values() if not _PLAIN.fullmatch(view)]:
            raise ValueError(f"a view's name has other characters than letters and digits: {wrong[0]!r}")
        self._grants = dict(grants)
        self._namespace = namespace

    def view(self, written: str) -> tuple[str, str]:
        """View and visible name of a handle, or of a table's name. Raises CallRefusedError."""
        handle = written if written in self._grants else self.handle_of_table(written)
        if handle not in self._grants:
            raise self.unknown(written)
        return self._grants[handle], _last_part(handle)

    def view_of_parts(self, parts: Collection[str]) -> str | None:
        """Of a table that SQL names in two or three parts."""
        if len(parts) not in (2, 3) or any("." in part for part in parts):
            return None
        return self._grants.get(self.handle_of_table(".".join(parts)))

    def has(self, view: str) -> bool:
        return view in self._grants.values()

    def handle_of_table(self, name: str) -> str:
        return handle_of(ReadKind.REF, name, self._namespace)

    def unknown(self, written: str) -> CallRefusedError:
        names = [self._named(handle) for handle in self._grants]
        listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        may = f"it declares {listed}" if names else "it declares none"
        return refusal(
            f"the model reads {self._named(written)[:200]}, which it does not declare; {may}. "
            'Name it literally, as in tg.ref("silver.orders"), or list it in depends_on'
        )

    def names_of_views(self) -> dict[str, str]:
        """By view, what the user wrote: for messages of Spark."""
        return {view: self._named(handle) for handle, view in self._grants.items()}

    def _named(self, handle: str) -> str:
        kind, _, name = handle.partition(" ")
        if kind not in set(ReadKind):
            return handle
        short = name.removeprefix(f"{self._namespace.lower()}.") if self._namespace else name
        return short if kind == ReadKind.REF else f"tg.{kind}({f'{short!r}' if short else ''})".replace("'", '"')


def qualified(view: str) -> str:
    return f"{quote(DATABASE)}.{quote(view)}"


def _last_part(handle: str) -> str:
    kind, _, name = handle.partition(" ")
    return name.replace("/", ".").rsplit(".", 1)[-1] or kind
