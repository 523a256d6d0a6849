"""Runs the code of a Python model: the source of a file → what its `model(tg)` returns, or its `result`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import ModuleType
from typing import Any

from tidegate.python_models.current_model import current_api
from tidegate.python_models.model_api import ModelApi
from tidegate.python_models.printed_lines import PrintedLines

__all__ = ["CodeFailure", "call_model", "line_of", "loaded_code"]

_numbers = count(1)


class CodeFailure(Exception):
    """The file does not do what a model has to. `line`: of the file."""

    def __init__(self, message: str, line: int | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.remedy = remedy


@contextmanager
def loaded_code(
    file: str, source: str, api: ModelApi, log: Callable[[str], None] | None = None
) -> Iterator[ModuleType]:
    """The module of the file, until the end. `log`: takes what it prints, in a process that is not its own."""
    module = ModuleType(f"tidegate_model_{next(_numbers)}")
    module.__file__ = file
    text = source.removeprefix("\ufeff")
    # Classes look for their module by its name while they are made, and when they are pickled.
    sys.modules[module.__name__] = module
    printed = _Printed(log) if log is not None else None
    try:
        with _pickled_by_value(module), current_api(api):
            module.__dict__.update({"tg": api} if printed is None else {"tg": api, "print": printed})
            exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
            yield module
    finally:
        if printed is not None:
            printed.end()
        sys.modules.pop(module.__name__, None)


def call_model(module: ModuleType, api: ModelApi) -> Any:
    """Raises CodeFailure where the file has nothing to give."""
    function = module.__dict__.get("model")
    if function is None and "result" in module.__dict__:
        return module.__dict__["result"]
    if function is None:
        raise CodeFailure(
            "the file defines neither a function `model(tg)` nor a variable `result`",
            remedy="Write `def model(tg):` and return a DataFrame from it.",
        )
    if not callable(function):
        raise CodeFailure(f"`model` is no function, but {type(function).__name__}", remedy="Write `def model(tg):`.")
    value = function(api) if _takes_api(function) else function()
    if inspect.isgenerator(value) or inspect.iscoroutine(value):
        value.close()
        kind = "yields rows" if inspect.isgeneratorfunction(function) else "is async"
        raise CodeFailure(f"`model` {kind}, and must return a DataFrame", line_of(function))
    return value


def line_of(function: Any) -> int | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_firstlineno if code is not None else None


def _takes_api(function: Callable[..., Any]) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    return any(kind in (*positional, inspect.Parameter.VAR_POSITIONAL) for kind in kinds)


@contextmanager
def _pickled_by_value(module: ModuleType) -> Iterator[None]:
    """Functions of the module go to Spark's workers as they are: no worker can import it."""
    if "pyspark" not in sys.modules:
        yield
        return
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


class _Printed:
    """`print` of the module, in whatever thread: whole lines go to the log."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._lines = PrintedLines(log)

    def __call__(
        self, *values: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, **_: Any
    ) -> None:
        separator, ending = " " if sep is None else sep, "\n" if end is None else end
        text = separator.join(map(str, values)) + ending
        if file is not None and file not in (sys.stdout, sys.stderr):
            file.write(text)
            return
        self._lines.write(text)

    def end(self) -> None:
        self._lines.end()

    def __reduce__(self) -> Any:
        return (getattr, (sys.modules["builtins"], "print"))
