"""The Iceberg REST protocol, as far as a lake's main needs it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote, urlencode

from tidegate.config import RestServer
from tidegate.errors import FailureKind, LakeError, LakeUnavailableError
from tidegate.failures import kind_of_status
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.catalogs.json_server import JsonServer, MovedError, UnansweredError
from tidegate.lake.catalogs.rest_updates import new_view
from tidegate.names import TableName

__all__ = ["Commit", "NotThereError", "RestApi", "TokenServer"]

_EARLY_SECONDS = 60.0
_DEFAULT_SECONDS = 3600.0


class TokenServer(JsonServer):
    name = "OAuth2"

    def __init__(self, server: RestServer) -> None:
        super().__init__(server.oauth2_server_uri or f"{server.uri}/v1/oauth/tokens", {})
        self._server = server
        self._lock = threading.Lock()
        self._token = ""
        self._until = 0.0

    def token(self, refused: str | None = None) -> str:
        """`refused`: a token that the server rejects; a new one is fetched unless that has already happened."""
        with self._lock:
            if time.monotonic() > self._until or self._token == refused:
                self._fetch()
            return self._token

    def _fetch(self) -> None:
        assert self._server.credential is not None
        client, _, secret = self._server.credential.reveal().partition(":")
        form = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_secret": secret,
            "scope": self._server.scope,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        reply = self._client.send("POST", "", urlencode(form).encode(), headers, repeatable=True)
        answer = self._document(reply)
        if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
            raise self._unavailable("the OAuth2 server gave no token", FailureKind.AUTH_FAILED)
        self._token = answer["access_token"]
        self._until = time.monotonic() + float(answer.get("expires_in") or _DEFAULT_SECONDS) - _EARLY_SECONDS

    def _refused(self, status: int, body: bytes) -> LakeError:
        explanation: object = None
        with suppress(ValueError, AttributeError):
            document = json.loads(body)
            explanation = document.get("error_description") or document.get("error")
        if not isinstance(explanation, str):
            explanation = f"HTTP status {status}"
        kind = FailureKind.AUTH_FAILED if status in (400, 401, 403) else kind_of_status(status)
        return self._unavailable(
            f"the OAuth2 server refused: {explanation[:300]}",
            kind,
            "correct 'credential', 'scope' and 'oauth2_server_uri' in [lake]",
        )


_UNKNOWN_STATE = frozenset({500, 502, 504})
"""By the protocol, a commit that is answered so may or may not have been done."""

_AUTH = frozenset({401, 403, 419})

_LEGACY = frozenset(
    {
        "POST /v1/{prefix}/namespaces/{namespace}/register",
        "POST /v1/{prefix}/transactions/commit",
    }
)
"""What a server that does not list its endpoints is assumed to have, beside the tables' own."""

_FOLDERS = {PointerKind.TABLE: "tables", PointerKind.VIEW: "views"}


class NotThereError(LakeError):
    """There is no such table, view or namespace."""

    kind = FailureKind.NOT_FOUND


@dataclass(frozen=True, slots=True)
class Commit:
    """The changes of one table, and the requirements that must still hold."""

    table: TableName
    requirements: Sequence[Mapping[str, Any]]
    updates: Sequence[Mapping[str, Any]]

    def document(self) -> dict[str, Any]:
        identifier = {"namespace": list(_levels(self.table)), "name": self.table.name}
        return {"identifier": identifier, "requirements": list(self.requirements), "updates": list(self.updates)}


@dataclass(frozen=True, slots=True)
class _Config:
    prefix: str
    separator: str
    """Between the levels of a namespace."""
    endpoints: frozenset[str]
    """Empty where the server lists none."""


class RestApi(JsonServer):
    name = "Iceberg REST"
    max_write_attempts = 6
    first_pause_seconds = 0.1

    def __init__(self, server: RestServer) -> None:
        headers = {key: value.reveal() for key, value in server.headers.items()}
        if server.token is not None:
            headers |= _bearer(server.token.reveal())
        super().__init__(server.uri, headers)
        self._server = server
        self._tokens = TokenServer(server) if server.credential is not None else None

    def pointers(self) -> dict[TableName, Pointer]:
        """Every table and view of a two-level namespace: one after the other, so not of one moment."""
        kinds = list(_FOLDERS) if self.has_views else [PointerKind.TABLE]
        pointers = {}
        for namespace in self._namespaces():
            for kind in kinds:
                for name in self._names(namespace, kind):
                    table = TableName(*namespace, name)
                    if (pointer := self._pointer(table, kind)) is not None:
                        pointers[table] = pointer
        return pointers

    def pointer(self, table: TableName) -> Pointer | None:
        pointer = self._pointer(table, PointerKind.TABLE)
        return pointer or (self._pointer(table, PointerKind.VIEW) if self.has_views else None)

    @property
    def has_views(self) -> bool:
        return self._offers("POST /v1/{prefix}/namespaces/{namespace}/views")

    @property
    def has_transactions(self) -> bool:
        return self._offers("POST /v1/{prefix}/transactions/commit")

    def create_namespace(self, table: TableName) -> None:
        levels = _levels(table)
        for depth in range(1, len(levels) + 1):
            try:
                self._get(self._namespace(levels[:depth]))
            except NotThereError:
                with suppress(MovedError):  # another process created it first
                    body = {"namespace": list(levels[:depth]), "properties": {}}
                    self._change("POST", self._path_to("namespaces"), body=body)

    def create(self, table: TableName, pointer: Pointer, metadata: Mapping[str, Any]) -> None:
        """A new table or view, as its metadata file has it. Raises MovedError where the name is taken."""
        is_view = pointer.kind is PointerKind.VIEW
        way, body = "register-view" if is_view else "register", {"metadata-location": pointer.location}
        if not self._offers(f"POST /v1/{{prefix}}/namespaces/{{namespace}}/{way}"):
            if not is_view or not self.has_views:
                raise self._lacks("views" if is_view else "to register a table")
            way, body = "views", new_view(metadata)
        self._change("POST", f"{self._namespace(_levels(table))}/{way}", body={"name": table.name, **body})

    def drop(self, table: TableName, kind: PointerKind) -> None:
        """Its files stay. A table that no longer exists is no error."""
        query = {"purgeRequested": "false"} if kind is PointerKind.TABLE else {}
        with suppress(NotThereError):
            self._change("DELETE", self._item(table, kind), query)

    def commit(self, commit: Commit, kind: PointerKind = PointerKind.TABLE) -> None:
        """Raises MovedError if a requirement no longer holds."""
        self._change("POST", self._item(commit.table, kind), body=commit.document())

    def commit_all(self, commits: Iterable[Commit]) -> None:
        """All of them in one step, or raise MovedError."""
        body = {"table-changes": [commit.document() for commit in commits]}
        self._change("POST", self._path_to("transactions/commit"), body=body)

    def _namespaces(self) -> Iterator[tuple[str, str]]:
        """Those of two levels."""
        path = self._path_to("namespaces")
        for page in self._pages(path, {}):
            for (top,) in (levels for levels in page["namespaces"] if len(levels) == 1):
                try:
                    for below in self._pages(path, {"parent": top}):
                        yield from ((levels[0], levels[1]) for levels in below["namespaces"] if len(levels) == 2)
                except NotThereError:
                    continue  # dropped since it was listed

    def _names(self, namespace: tuple[str, str], kind: PointerKind) -> Iterator[str]:
        try:
            for page in self._pages(f"{self._namespace(namespace)}/{_FOLDERS[kind]}", {}):
                yield from (identifier["name"] for identifier in page["identifiers"])
        except NotThereError:
            return

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[Any]:
        token = None
        while True:
            page = self._get(path, {**query, **({"pageToken": token} if token else {})})
            yield page
            token = page.get("next-page-token")
            if not token:
                return

    def _pointer(self, table: TableName, kind: PointerKind) -> Pointer | None:
        query = {"snapshots": "refs"} if kind is PointerKind.TABLE else {}
        try:
            document = self._get(self._item(table, kind), query)
        except NotThereError:
            return None
        location = document.get("metadata-location")
        if not location:
            raise self._lacks(f"the location of the metadata file of {table}")
        return Pointer(kind, location)

    def _item(self, table: TableName, kind: PointerKind) -> str:
        return f"{self._namespace(_levels(table))}/{_FOLDERS[kind]}/{quote(table.name, safe='')}"

    def _namespace(self, levels: Sequence[str]) -> str:
        joined = self._config.separator.join(quote(level, safe="") for level in levels)
        return self._path_to(f"namespaces/{joined}")

    def _path_to(self, suffix: str) -> str:
        prefix = self._config.prefix
        return f"/v1/{quote(prefix)}/{suffix}" if prefix else f"/v1/{suffix}"

    def _offers(self, endpoint: str) -> bool:
        return endpoint in (self._config.endpoints or _LEGACY)

    @cached_property
    def _config(self) -> _Config:
        catalog_name = self._server.catalog_name
        answer = self._get("/v1/config", {"warehouse": catalog_name} if catalog_name else {})
        if not isinstance(answer, dict) or "defaults" not in answer:
            message = "the server at this address is no Iceberg REST catalog"
            raise self._unavailable(message, FailureKind.CONNECTION_FAILED)
        settings = {**(answer["defaults"] or {}), **(answer.get("overrides") or {})}
        separator = quote(unquote(settings.get("namespace-separator", "%1F")), safe="")
        return _Config(settings.get("prefix", ""), separator, frozenset(answer.get("endpoints") or ()))

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        repeatable: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Sent again with a new token if the server rejects the current one."""
        if self._tokens is None:
            return super()._request(method, path, query, body, repeatable, headers)
        token = self._tokens.token()
        try:
            return super()._request(method, path, query, body, repeatable, _bearer(token))
        except LakeUnavailableError as error:
            if error.kind is not FailureKind.AUTH_FAILED:
                raise
        return super()._request(method, path, query, body, repeatable, _bearer(self._tokens.token(refused=token)))

    def _refused(self, status: int, body: bytes) -> LakeError:
        try:
            message = str(json.loads(body)["error"]["message"])
        except (ValueError, KeyError, TypeError):
            message = ""
        explanation = message.partition("\n")[0][:300] or f"HTTP status {status}"
        if status in _AUTH:
            return self._unavailable(
                f"the REST catalog refused: {explanation}",
                FailureKind.AUTH_FAILED,
                "correct 'token', 'credential' or 'headers' in [lake], or their permissions",
            )
        if status == 404:
            return NotThereError(f"the REST catalog: {explanation}", where=self.uri, remedy="check 'uri' in [lake]")
        if status == 409:
            return MovedError(f"the REST catalog: {explanation}", where=self.uri)
        if status in _UNKNOWN_STATE:
            return UnansweredError(
                f"the REST catalog answered: {explanation}", where=self.uri, remedy="see the server's log"
            )
        if status < 500 and status != 429:
            return LakeError(f"the REST catalog refused: {explanation}", where=self.uri, remedy="see the server's log")
        return self._unavailable(f"the REST catalog answered: {explanation}", kind_of_status(status))

    def _lacks(self, what: str) -> LakeError:
        return LakeError(
            f"the REST catalog does not offer {what}",
            where=self.uri,
            remedy="use a server that offers it, or another kind of [lake] catalog",
        )


def _levels(table: TableName) -> tuple[str, str]:
    return table.namespace, table.layer


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
