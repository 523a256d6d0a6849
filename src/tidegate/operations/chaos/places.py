"""Where the catalog of a copied lake is: a file, a schema of the same database, a branch of the same server."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.config import DatabaseUrl, LakeSection, NessieServer
from tidegate.errors import LakeUnavailableError, TidegateError

if TYPE_CHECKING:
    from tidegate.lake.catalogs.nessie_api import NessieApi

__all__ = ["lake_in", "make_place", "place_text", "remove_place", "require_place"]


def require_place(lake: LakeSection) -> None:
    """Raise where a copy of the lake would not be apart from it."""
    if lake.catalog not in ("embedded", "jdbc", "nessie"):
        raise TidegateError(
            f"chaos cannot copy a lake whose catalog is '{lake.catalog}'",
            where="[lake] catalog",
            remedy="It works with embedded, jdbc and nessie, where a copy has a catalog of its own: use a second"
            " configuration file with one of these (--config FILE).",
        )


def lake_in(lake: LakeSection, folder: Path, name: str) -> LakeSection:
    """The same kind of lake below `folder`. `name` is what its schema or its main is called."""
    copied = replace(lake, catalog_path=folder / "catalog.db", warehouse=folder / "warehouse")
    if lake.jdbc is not None:
        options = f"{lake.jdbc.parameters.get('options', '')} -c search_path={name}".strip()
        return replace(copied, jdbc=replace(lake.jdbc, parameters={**lake.jdbc.parameters, "options": options}))
    if lake.nessie is not None:
        return replace(copied, nessie=replace(lake.nessie, ref=name))
    return copied


def place_text(lake: LakeSection, name: str) -> str:
    """What is left outside of the folder, for people; nothing where all is in it."""
    if lake.jdbc is not None:
        return f"schema {name} of {lake.jdbc.address}"
    return f"branch {name} of {lake.nessie.uri}" if lake.nessie is not None else ""


def make_place(lake: LakeSection, name: str) -> None:
    """`lake` is the one that is copied."""
    if lake.jdbc is not None:
        _in_database(lake.jdbc, f'CREATE SCHEMA "{name}"')
    elif lake.nessie is not None:
        api = _nessie(lake.nessie)
        # With all that others have on main, which the copy then points elsewhere.
        api.create_branch(name, api.reference(lake.nessie.ref))


def remove_place(lake: LakeSection, name: str) -> None:
    """Also where it was never made."""
    if lake.jdbc is not None:
        _in_database(lake.jdbc, f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
    elif lake.nessie is not None:
        from tidegate.lake.catalogs.nessie_api import NoReferenceError

        api = _nessie(lake.nessie)
        with suppress(NoReferenceError):
            api.delete_branch(name, api.reference(name).hash)


def _nessie(server: NessieServer) -> NessieApi:
    from tidegate.lake.catalogs.nessie_api import NessieApi

    return NessieApi(server)


def _in_database(url: DatabaseUrl, statement: str) -> None:
    import psycopg

    arguments: dict[str, Any] = {
        "application_name": "tidegate",
        **url.parameters,
        "host": url.host,
        "port": url.port,
        "dbname": url.database,
        "user": url.user,
        "password": url.password.reveal() if url.password else None,
    }
    try:
        with psycopg.connect(**arguments, autocommit=True) as connection:
            connection.execute(statement.encode())
    except psycopg.Error as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise LakeUnavailableError(
            f"The copy of the lake cannot have a schema of its own: {reason}",
            where=url.address,
            remedy="Let this user create schemas (GRANT CREATE ON DATABASE), or use another database (--config FILE).",
        ) from error
