"""`from tidegate import tg`: the `tg` of the model that runs in this thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["NOT_IN_WORKERS", "current_api", "tg"]

NOT_IN_WORKERS = (
    "tg cannot be used in a function that runs in Spark's workers: read it into a variable outside of the function"
)

_CURRENT: ContextVar[Any] = ContextVar("tidegate_model")


@contextmanager
def current_api(api: Any) -> Iterator[None]:
    token = _CURRENT.set(api)
    try:
        yield
    finally:
        _CURRENT.reset(token)


class _CurrentModel:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            api = _CURRENT.get()
        except LookupError:
            raise RuntimeError(
                f"tg.{name} is there only while Tidegate runs a model: run the file with `tidegate run`"
            ) from None
        return getattr(api, name)

    def __reduce__(self) -> Any:
        raise TypeError(NOT_IN_WORKERS)

    def __repr__(self) -> str:
        return "tg"


tg = _CurrentModel()
