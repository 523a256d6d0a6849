"""The options of a run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from blake3 import blake3

from tidegate.errors import OptionsError
from tidegate.jsontext import json_text
from tidegate.planner.replay import ReplayRequest
from tidegate.redaction import looks_secret, passwords_in

__all__ = ["CALL_OPTIONS", "LATEST", "RunOptions", "is_secret", "redact_secrets", "resumed_variables"]

LATEST = "latest"
"""Instead of a run's id."""

CALL_OPTIONS = ("concurrency", "confirmed", "fail_fast", "idempotency_key", "resume")
"""Two calls that differ only in these ask for the same tables."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """None: the value of tidegate.toml."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    full_refresh: bool = False
    publish: str | None = None
    concurrency: int | None = None
    vars: Mapping[str, str] = field(default_factory=dict)
    fail_fast: bool = False
    no_publish: bool = False
    allow_deletes: bool = False
    confirmed: bool = False
    """Allows `full_refresh` of tables that keep history."""

    no_ingest: bool = False
    """Read no source: only files that are landed already."""

    verify: bool = False
    """Compare each table that was built from changes with a full build."""

    from_: datetime | None = None
    to: datetime | None = None
    replay: ReplayRequest | None = None
    """Rows of the quarantine of a contract: its silver table takes these, and nothing new."""

    resume: str | None = None
    """The id of a run to resume, or `latest`. Its recorded options count, see `resumed_with`."""

    idempotency_key: str | None = None
    """A call with the key of a run that succeeded gets that run's result."""

    @property
    def digest(self) -> str:
        """Of the options that decide what is built."""
        options = {name: value for name, value in asdict(self).items() if name not in CALL_OPTIONS}
        options |= {"select": sorted(set(self.select)), "vars": dict(sorted(redact_secrets(self.vars).items()))}
        # A call without --exclude has the digest that it had before there was one: keys outlive versions.
        if exclude := sorted(set(self.exclude)):
            options["exclude"] = exclude
        else:
            del options["exclude"]
        for later in ("no_ingest", "replay"):
            if not options[later]:
                del options[later]
        return blake3(json_text(dict(sorted(options.items()))).encode()).hexdigest()

    def to_record(self) -> dict[str, Any]:
        """For the history of runs: as `to_dict`, without the values of secret variables."""
        return {**self.to_dict(), "vars": redact_secrets(self.vars)}

    def to_dict(self) -> dict[str, Any]:
        """For another process; `from_dict` reads it."""
        values = {name: value for name, value in asdict(self).items() if name != "resume"}
        lists = {"select": list(self.select), "exclude": list(self.exclude)}
        return {**values, **lists, "from_": _text(self.from_), "to": _text(self.to)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunOptions:
        """Unknown options, of a later version, are left out."""
        options = {name: value for name, value in values.items() if name in cls.__dataclass_fields__}
        options |= {name: tuple(options.get(name, ())) for name in ("select", "exclude")}
        options |= {name: _moment(options.get(name)) for name in ("from_", "to")}
        if options.get("replay") is not None:
            options["replay"] = ReplayRequest.from_dict(options["replay"])
        return cls(**options)

    def resumed_with(self, now: RunOptions, run_id: str) -> RunOptions:
        """These recorded options for another try. `now` may allow more, or change how it is done, and has to repeat
        secret variables."""
        return replace(
            self,
            vars=resumed_variables(self.vars, now.vars, run_id),
            concurrency=now.concurrency or self.concurrency,
            fail_fast=now.fail_fast,
            allow_deletes=now.allow_deletes or self.allow_deletes,
            confirmed=now.confirmed or self.confirmed,
            verify=now.verify or self.verify,
        )


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


_ROUNDS = 100_000
"""Makes guessing the value slow."""

_SEALED = re.compile(r"\*{3}[0-9a-f]{32}")


def is_secret(name: str, value: str) -> bool:
    return looks_secret(name) or bool(passwords_in(value))


def redact_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """As the history of runs records them: secret values sealed."""
    return {name: _seal(name, value) if is_secret(name, value) else value for name, value in variables.items()}


def resumed_variables(recorded: Mapping[str, str], supplied: Mapping[str, str], run_id: str) -> dict[str, str]:
    """The variables of a resumed run. `recorded`: from its record, with secrets sealed; `supplied`: from this call.

    Raises where a secret variable is missing or has another value.
    """
    secret = [name for name, value in recorded.items() if is_secret(name, value) or _SEALED.fullmatch(value)]
    if missing := [name for name in secret if name not in supplied]:
        raise OptionsError(
            f"Run {run_id} was begun with {_options(missing)}: it is a secret, so its value was not kept",
            remedy=f"Give it again: tidegate run --resume {run_id} {_options(missing, '=…')}",
        )
    if other := [name for name in secret if _seal(name, supplied[name]) != recorded[name]]:
        raise OptionsError(
            f"Run {run_id} was begun with another value of {_options(other)}",
            remedy="Give the value that it was begun with, or begin a new run.",
        )
    return {**recorded, **{name: supplied[name] for name in secret}}


def _seal(name: str, value: str) -> str:
    sealed = hashlib.pbkdf2_hmac("sha256", value.encode("utf-8", "surrogateescape"), name.encode(), _ROUNDS)
    return f"***{sealed.hex()[:32]}"


def _options(names: list[str], end: str = "") -> str:
    return " ".join(f"--var {name}{end}" for name in names)
