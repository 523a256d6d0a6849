"""The address of a PostgreSQL database, as JDBC and as libpq write it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from tidegate.names import nearest
from tidegate.redaction import Secret

__all__ = ["DatabaseUrl", "parse_database_url"]

_DEFAULT_PORT = 5432
_SCHEMES = ("jdbc:postgresql://", "postgresql://", "postgres://")
_OTHER_DATABASE = re.compile(r"jdbc:(?!postgresql\b)(\w+):")
_PARAMETERS = (
    "application_name",
    "channel_binding",
    "gssencmode",
    "options",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
)
_RENAMED = {"ApplicationName": "application_name"}
_SHARED_WITH_JDBC = ("application_name", "sslcert", "sslkey", "sslmode", "sslrootcert")


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    host: str
    port: int
    database: str
    user: str | None
    password: Secret | None
    parameters: Mapping[str, str]

    @property
    def address(self) -> str:
        """What may be shown: no user, no password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://{host}:{self.port}/{quote(self.database)}"

    def text(self) -> str:
        """All of it in one text, the password too."""
        password = f":{quote(self.password.reveal(), safe='')}" if self.password else ""
        user = f"{quote(self.user or '', safe='')}{password}@" if self.user or password else ""
        parameters = f"?{urlencode(self.parameters)}" if self.parameters else ""
        return f"{self.address.replace('://', f'://{user}', 1)}{parameters}"


def parse_database_url(text: str) -> DatabaseUrl:
    """Raises ValueError with a message that never shows the URL, which may hold a password."""
    text = text.strip()
    if other := _OTHER_DATABASE.match(text):
        raise ValueError(f"databases of kind '{other[1]}' are not supported by this version; only postgresql is")
    scheme = next((scheme for scheme in _SCHEMES if text.startswith(scheme)), None)
    if scheme is None:
        raise ValueError("must begin with jdbc:postgresql:// or postgresql://")
    try:
        parts = urlsplit(f"postgresql://{text.removeprefix(scheme)}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("must name one host and a port that is a number, as in postgresql://host:5432/name") from None
    database = unquote(parts.path.removeprefix("/"))
    if not host or not database or "/" in database or parts.fragment:
        raise ValueError(
            "must be written postgresql://host:5432/name; in a user or password, '@', ':', '/', '?', '#' and '%' "
            "must be percent-encoded (or use the keys 'user' and 'password')"
        )
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    password = parameters.pop("password", None) or (unquote(parts.password) if parts.password else None)
    return DatabaseUrl(
        host=unquote(host),
        port=_DEFAULT_PORT if port is None else port,
        database=database,
        user=parameters.pop("user", None) or (unquote(parts.username) if parts.username else None),
        password=Secret(password) if password else None,
        parameters=_of_jdbc(parameters) if scheme.startswith("jdbc:") else _of_libpq(parameters),
    )


def _of_jdbc(parameters: Mapping[str, str]) -> dict[str, str]:
    """Parameters of the JDBC driver alone are ignored."""
    encrypted = {"sslmode": "verify-full"} if parameters.get("ssl", "false").lower() in ("", "true") else {}
    renamed = {_RENAMED.get(key, key): value for key, value in parameters.items()}
    return encrypted | {key: value for key, value in renamed.items() if key in _SHARED_WITH_JDBC}


def _of_libpq(parameters: Mapping[str, str]) -> dict[str, str]:
    for key in parameters:
        if key not in _PARAMETERS:
            hint = nearest(key, _PARAMETERS, 1)
            suggestion = f"did you mean '{hint[0]}'?" if hint else f"known are {', '.join(_PARAMETERS)}"
            raise ValueError(f"has an unknown parameter '{key}'; {suggestion}")
    return dict(parameters)
