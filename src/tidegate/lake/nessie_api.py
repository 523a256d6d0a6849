"""Nessie's REST API, version 2, as far as a catalog with branches needs it."""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tidegate.config import NessieServer
from tidegate.errors import FailureKind, LakeError, LakeUnavailableError

__all__ = ["Content", "Key", "MovedError", "NessieApi", "NoReferenceError", "Reference", "Tree", "UnansweredError"]

_SECONDS = 20.0
_ATTEMPTS = 3
_FRESH_SECONDS = 5.0
"""A connection that was idle for longer may be closed already, and then nobody knows what became of a request."""

_PAGE = 1000

Key = tuple[str, ...]
Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reference:
    name: str
    hash: str
    type: str = "BRANCH"


@dataclass(frozen=True, slots=True)
class Tree:
    """Contents of a branch (all, or those asked for) at one commit."""

    hash: str
    contents: Mapping[Key, Content]


class NoReferenceError(LakeError):
    """There is no such branch or commit."""

    kind = FailureKind.NOT_FOUND


class MovedError(LakeError):
    """The branch, or a key on it, is no longer what was expected; nothing was changed."""

    kind = FailureKind.CONFLICT


class UnansweredError(LakeUnavailableError):
    """A request that changes something was sent and not answered: it may or may not have been done."""


class NessieApi:
    """May be shared by threads: each has its own connection."""

    def __init__(self, server: NessieServer, seconds: float = _SECONDS) -> None:
        parts = urlsplit(server.uri)
        self.uri = server.uri
        self._host, self._port = parts.hostname or "", parts.port
        self._secure = parts.scheme == "https"
        self._path = parts.path.rstrip("/")
        self._seconds = seconds
        self._headers = {"Accept": "application/json", "User-Agent": "tidegate", "Nessie-Client-Spec": "2"}
        if server.token is not None:
            self._headers["Authorization"] = f"Bearer {server.token.reveal()}"
        self._mine = threading.local()

    def config(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._get("/config")
        return found

    def references(self) -> tuple[Reference, ...]:
        return tuple(
            Reference(found["name"], found["hash"], found["type"])
            for page in self._pages("/trees", {})
            for found in page["references"]
        )

    def reference(self, name: str) -> Reference:
        found = self._get(f"/trees/{_ref(name)}")["reference"]
        return Reference(found["name"], found["hash"], found["type"])

    def create_branch(self, name: str, source: Reference) -> None:
        """Raises MovedError where the name is taken."""
        body = {"type": source.type, "name": source.name, "hash": source.hash}
        self._change("POST", "/trees", {"name": name, "type": "BRANCH"}, body)

    def delete_branch(self, name: str, hash: str) -> None:
        self._change("DELETE", f"/trees/{_ref(name, hash)}", {"type": "BRANCH"}, None)

    def assign_branch(self, name: str, hash: str, to: Reference) -> None:
        """Let the branch point at another commit, if it is still at `hash`; else raises MovedError."""
        body = {"type": to.type, "name": to.name, "hash": to.hash}
        self._change("PUT", f"/trees/{_ref(name, hash)}", {"type": "BRANCH"}, body)

    def tree(self, name: str, hash: str | None = None) -> Tree:
        """Everything on the branch; with a `hash` and no name, of that commit wherever it is."""
        contents: dict[Key, Content] = {}
        for page in self._pages(f"/trees/{_ref(name, hash)}/entries", {"content": "true"}, pin=name):
            hash = page["effectiveReference"]["hash"]
            contents |= {tuple(entry["name"]["elements"]): entry["content"] for entry in page["entries"]}
        return Tree(hash or "", contents)

    def contents(self, name: str, keys: Iterable[Key]) -> Tree:
        body = {"requestedKeys": [{"elements": list(key)} for key in keys]}
        answer = self._repeated("POST", f"/trees/{_ref(name)}/contents", {}, body)
        found = {tuple(item["key"]["elements"]): item["content"] for item in answer["contents"]}
        return Tree(answer["effectiveReference"]["hash"], found)

    def commit(self, name: str, hash: str, message: str, operations: Iterable[Mapping[str, Any]]) -> str:
        """All operations in one commit; gives its hash.

        Raises MovedError if any key of them is no longer what it was at `hash`; other keys may have changed.
        """
        body = {"commitMeta": {"message": message}, "operations": list(operations)}
        answer = self._change("POST", f"/trees/{_ref(name, hash)}/history/commit", {}, body)
        return str(answer["targetBranch"]["hash"])

    def _pages(self, path: str, parameters: Mapping[str, str], pin: str | None = None) -> Iterator[Any]:
        """`pin`: later pages are read at the commit of the first, so that no commit in between tears them apart."""
        token = None
        while True:
            paging = {"max-records": str(_PAGE), **({"page-token": token} if token else {})}
            page = self._get(path, {**parameters, **paging})
            yield page
            if not page.get("hasMore"):
                return
            token = page["token"]
            if pin is not None:
                path = f"/trees/{_ref(pin, page['effectiveReference']['hash'])}/entries"

    def _get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        return self._repeated("GET", path, parameters or {}, None)

    def _repeated(self, method: str, path: str, parameters: Mapping[str, str], body: Any) -> Any:
        """For requests that change nothing."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._change(method, path, parameters, body)
            except LakeUnavailableError as error:
                if isinstance(error, UnansweredError):
                    error = LakeUnavailableError(str(error), where=error.where, remedy=error.remedy)
                if attempt == _ATTEMPTS or error.kind is FailureKind.AUTH_FAILED:
                    raise error from None
                time.sleep(0.1 * 2**attempt * (0.5 + random.random()))
        raise AssertionError("unreachable")

    def _change(self, method: str, path: str, parameters: Mapping[str, str], body: Any) -> Any:
        """Once: whoever asks for a change must know what became of it before it asks again."""
        target = self._path + path + (f"?{urlencode(parameters)}" if parameters else "")
        content = None if body is None else json.dumps(body).encode()
        headers = self._headers | ({"Content-Type": "application/json"} if content else {})
        connection, sent = self._connection(), False
        try:
            if connection.sock is None:
                connection.connect()
            sent = True
            connection.request(method, target, content, headers)
            response = connection.getresponse()
            status, answer = response.status, response.read()
            self._mine.used = time.monotonic()
        except (OSError, http.client.HTTPException) as error:
            self._forget()
            raise self._unreachable(error, sent) from error
        if status >= 300:
            raise self._refused(status, answer)
        try:
            return json.loads(answer) if answer else None
        except ValueError as error:
            raise self._unavailable("what answers there is not Nessie", FailureKind.CONNECTION_FAILED) from error

    def _connection(self) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._mine, "connection", None)
        if kept is not None and time.monotonic() - self._mine.used <= _FRESH_SECONDS:
            return kept
        self._forget()
        if self._secure:
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=self._seconds, context=ssl.create_default_context()
            )
        else:
            made = http.client.HTTPConnection(self._host, self._port, timeout=self._seconds)
        self._mine.connection, self._mine.used = made, time.monotonic()
        return made

    def _forget(self) -> None:
        kept: http.client.HTTPConnection | None = getattr(self._mine, "connection", None)
        if kept is not None:
            kept.close()
        self._mine.connection = None

    def _unreachable(self, error: Exception, sent: bool) -> LakeUnavailableError:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        make = UnansweredError if sent else LakeUnavailableError
        return make(
            f"the lake's catalog cannot be reached: {reason}",
            where=self.uri,
            remedy="see whether the Nessie server runs and 'uri' in [lake] is right, then try again",
        )

    def _refused(self, status: int, answer: bytes) -> LakeError:
        try:
            error = json.loads(answer)
            code, message = str(error.get("errorCode", "")), str(error.get("message", ""))
        except (ValueError, AttributeError):
            code, message = "", ""
        said = message.partition("\n")[0][:300] or f"HTTP status {status}"
        if status in (401, 403):
            return self._unavailable(
                f"Nessie refused: {said}", FailureKind.AUTH_FAILED, "correct 'token' in [lake], or what it may do"
            )
        if status == 404 and "NOT_FOUND" in code:
            return NoReferenceError(f"Nessie: {said}", where=self.uri)
        if status == 409:
            return MovedError(f"Nessie: {said}", where=self.uri)
        if status == 400:
            return LakeError(f"Nessie refused: {said}", where=self.uri, remedy="see the log of the Nessie server")
        kind = FailureKind.QUOTA_EXCEEDED if status == 429 else FailureKind.CONNECTION_FAILED
        return self._unavailable(f"Nessie answered: {said}", kind)

    def _unavailable(self, message: str, kind: FailureKind, remedy: str | None = None) -> LakeUnavailableError:
        failure = LakeUnavailableError(
            message, where=self.uri, remedy=remedy or "check 'uri' in [lake] and the Nessie server, then try again"
        )
        failure.kind = kind
        return failure


def _ref(name: str, hash: str | None = None) -> str:
    """As a part of a path; with a slash in it, a name must be followed by an @."""
    return quote(name, safe="/") + (f"@{hash or ''}" if hash or "/" in name else "")
