"""A contract file → a `ModelContract`, and everything that is wrong with it."""

from __future__ import annotations

from tidegate.contracts.model_contract import ModelContract
from tidegate.contracts.toml_form import read_toml
from tidegate.problems import Problem

__all__ = ["read_contract"]


def read_contract(text: str, file: str, table: str) -> tuple[ModelContract | None, tuple[Problem, ...]]:
    """`table` is the name that an ODCS file with several objects may know the model by.

    What is wrong is left out of the contract; None where nothing could be read.
    """
    text = text.replace("\r\n", "\n")
    if file.lower().endswith(".toml"):
        return read_toml(text, file)
    # YAML takes a while to load, and most projects have no such file.
    from tidegate.contracts.odcs import read_odcs

    return read_odcs(text, file, table)
