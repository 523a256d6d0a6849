"""Spark Connect for one sandboxed model: every plan is checked and rewritten before Spark's server sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidegate.config import SandboxSection
from tidegate.spark.connect_server import ConnectServer

__all__ = ["PlanProxy"]


class PlanProxy:
    """A CallHandler with a Connect session of its own.

    `grants`: by handle (`ref shop.silver.orders`), the name of a global temporary view, without its database.
    `namespace`: the project's own, for names in SQL. `functions`: those that the project declares, in lower case.
    `conf`: settings that the model's classic session has set, such as its time zone; none may hold a secret.
    """

    def __init__(
        self,
        server: ConnectServer,
        grants: Mapping[str, str],
        section: SandboxSection,
        *,
        namespace: str = "",
        functions: frozenset[str] = frozenset(),
        conf: Mapping[str, str] | None = None,
    ) -> None:
        raise NotImplementedError

    def call(self, method: str, request: bytes) -> Iterator[bytes]:
        """The responses of the server. Raises CallRefusedError, also between two responses."""
        raise NotImplementedError

    def register(self, relation: bytes) -> str:
        """Check a relation that the model returned; the name of a global temporary view of it, without its database.

        It lives until `close`. Raises CallRefusedError.
        """
        raise NotImplementedError

    def interrupt(self) -> None:
        """End what runs now, from any thread."""
        raise NotImplementedError

    def close(self) -> None:
        """Drop the views of `register` and release the session. Call it once the result is written."""
        raise NotImplementedError
