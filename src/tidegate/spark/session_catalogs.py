"""The catalogs of a session: each has its own, with connections that Java's collector does not close."""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["close_catalogs"]


def close_catalogs(jvm: Any, session: Any) -> None:
    """Close the connections of all catalogs that `session`, a session of the JVM, has opened. Nothing uses it again."""
    manager = session.sessionState().catalogManager()
    names = manager.listCatalogs(jvm.scala.Option.empty())
    for number in range(names.size()):
        catalog = manager.catalog(names.apply(number))
        with contextlib.suppress(Exception):  # not one of Iceberg's, or it has nothing to close
            catalog.icebergCatalog().close()
