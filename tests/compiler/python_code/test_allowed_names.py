"""The lists of what may be used, held against the installed packages: none leads outside."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType

import pytest

from tidegate.compiler.python_code import BLOCKED_BUILTINS, BLOCKED_IMPORTS, STANDARD_MODULES, names_of
from tidegate.compiler.python_code.allowed_names import library_modules

SEED = {"os", "sys", "subprocess", "socket", "shutil"}
SEED_BUILTINS = {"exec", "eval", "compile", "__import__", "open", "input"}
INSTALLED = sorted(module for module in library_modules() if not module.startswith("tidegate"))
OUTSIDE = {
    "os",
    "posix",
    "io",
    "_io",
    "subprocess",
    "sys",
    "socket",
    "shutil",
    "pathlib",
    "pickle",
    "_pickle",
    "importlib",
}


def test_there_are_26_blocked_builtins_and_more_than_30_imports() -> None:
    assert len(BLOCKED_BUILTINS) == 26
    assert set(BLOCKED_BUILTINS) >= SEED_BUILTINS
    assert len(BLOCKED_IMPORTS) > 30
    assert set(BLOCKED_IMPORTS) >= SEED
    assert set(BLOCKED_IMPORTS).isdisjoint(STANDARD_MODULES)


@pytest.mark.parametrize("module", [*STANDARD_MODULES, *INSTALLED])
def test_no_name_that_is_allowed_is_a_module_or_comes_from_one_that_is_blocked(module: str) -> None:
    loaded = import_module(module)
    for name in names_of(module):
        value = getattr(loaded, name, None)
        assert not isinstance(value, ModuleType), name
        origin = str(getattr(value, "__module__", "")).partition(".")[0]
        if isinstance(value, FunctionType | BuiltinFunctionType | type):
            assert origin not in OUTSIDE, name


@pytest.mark.parametrize("module", INSTALLED)
def test_every_name_on_the_list_is_there(module: str) -> None:
    loaded = import_module(module)
    assert {name for name in names_of(module) if not hasattr(loaded, name)} == set(), "remove it from the list"


def test_new_functions_of_spark_are_looked_at() -> None:
    functions = import_module("pyspark.sql.functions")
    refused = {"java_method", "reflect", "try_reflect", "call_udf", "UserDefinedFunction", "UserDefinedTableFunction"}
    assert set(functions.__all__) - names_of("pyspark.sql.functions") == refused


def test_the_page_shows_the_lists() -> None:
    from tidegate.compiler.python_code.lists_page import BEGIN, END, markdown

    page = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text("utf-8")
    assert page[page.index(BEGIN) : page.index(END)] == f"{BEGIN}\n{markdown()}", "run `make docs`"
