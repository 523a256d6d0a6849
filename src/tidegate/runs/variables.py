"""Variables of a run whose names look like those of secrets, or which hold a password: their values are not recorded,
only what tells whether another value is the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from tidegate.errors import OptionsError
from tidegate.redaction import looks_secret, passwords_in

__all__ = ["given_again", "is_secret", "put_down"]

_ROUNDS = 100_000
"""So that trying out likely values takes long."""

_SEALED = re.compile(r"\*{3}[0-9a-f]{32}")


def is_secret(name: str, value: str) -> bool:
    return looks_secret(name) or bool(passwords_in(value))


def put_down(variables: Mapping[str, str]) -> dict[str, str]:
    """As the history of runs keeps them."""
    return {name: _seal(name, value) if is_secret(name, value) else value for name, value in variables.items()}


def given_again(kept: Mapping[str, str], given: Mapping[str, str], run_id: str) -> dict[str, str]:
    """The variables of a run that is taken up, of which `kept` was put down. Raises where a secret one is missing, and
    where it is not what it was."""
    secret = [name for name, value in kept.items() if is_secret(name, value) or _SEALED.fullmatch(value)]
    if missing := [name for name in secret if name not in given]:
        raise OptionsError(
            f"Run {run_id} was begun with {_options(missing)}: it is a secret, so its value was not kept",
            remedy=f"Give it again: tidegate run --resume {run_id} {_options(missing, '=…')}",
        )
    if other := [name for name in secret if _seal(name, given[name]) != kept[name]]:
        raise OptionsError(
            f"Run {run_id} was begun with another value of {_options(other)}",
            remedy="Give the value that it was begun with, or begin a new run.",
        )
    return {**kept, **{name: given[name] for name in secret}}


def _seal(name: str, value: str) -> str:
    sealed = hashlib.pbkdf2_hmac("sha256", value.encode("utf-8", "surrogateescape"), name.encode(), _ROUNDS)
    return f"***{sealed.hex()[:32]}"


def _options(names: list[str], end: str = "") -> str:
    return " ".join(f"--var {name}{end}" for name in names)
