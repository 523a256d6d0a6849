"""Nessie's REST API, version 2, as far as a catalog with branches needs it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tidegate.config import NessieServer
from tidegate.errors import FailureKind, LakeError
from tidegate.lake.catalogs.json_server import JsonServer, MovedError

__all__ = ["Content", "Key", "NessieApi", "NoReferenceError", "Reference", "Tree"]

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
    """Contents of a branch (all, or the requested ones) at one commit."""

    hash: str
    contents: Mapping[Key, Content]


class NoReferenceError(LakeError):
    """There is no such branch or commit."""

    kind = FailureKind.NOT_FOUND


class NessieApi(JsonServer):
    name = "Nessie"

    def __init__(self, server: NessieServer) -> None:
        token = {"Authorization": f"Bearer {server.token.reveal()}"} if server.token is not None else {}
        super().__init__(server.uri, {"Nessie-Client-Spec": "2", **token})

    def config(self) -> Mapping[str, Any]:
        document: Mapping[str, Any] = self._get("/config")
        return document

    def references(self) -> tuple[Reference, ...]:
        return tuple(_reference(item) for page in self._pages("/trees", {}) for item in page["references"])

    def reference(self, name: str) -> Reference:
        return _reference(self._get(f"/trees/{_ref(name)}")["reference"])

    def create_branch(self, name: str, source: Reference) -> None:
        """Raises MovedError where the name is taken."""
        body = {"type": source.type, "name": source.name, "hash": source.hash}
        self._change("POST", "/trees", {"name": name, "type": "BRANCH"}, body)

    def delete_branch(self, name: str, hash: str) -> None:
        self._change("DELETE", f"/trees/{_ref(name, hash)}", {"type": "BRANCH"})

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
        answer = self._request("POST", f"/trees/{_ref(name)}/contents", body=body, repeatable=True)
        contents = {tuple(item["key"]["elements"]): item["content"] for item in answer["contents"]}
        return Tree(answer["effectiveReference"]["hash"], contents)

    def commit(self, name: str, hash: str, message: str, operations: Iterable[Mapping[str, Any]]) -> str:
        """All operations in one commit; gives its hash.

        Raises MovedError if any key of them is no longer what it was at `hash`; other keys may have changed.
        """
        body = {"commitMeta": {"message": message}, "operations": list(operations)}
        answer = self._change("POST", f"/trees/{_ref(name, hash)}/history/commit", body=body)
        return str(answer["targetBranch"]["hash"])

    def _pages(self, path: str, query: Mapping[str, str], pin: str | None = None) -> Iterator[Any]:
        """`pin`: later pages are read at the commit of the first, so that they are of one state."""
        token = None
        while True:
            paging = {"max-records": str(_PAGE), **({"page-token": token} if token else {})}
            page = self._get(path, {**query, **paging})
            yield page
            if not page.get("hasMore"):
                return
            token = page["token"]
            if pin is not None:
                path = f"/trees/{_ref(pin, page['effectiveReference']['hash'])}/entries"

    def _refused(self, status: int, body: bytes) -> LakeError:
        try:
            error = json.loads(body)
            code, message = str(error.get("errorCode", "")), str(error.get("message", ""))
        except (ValueError, AttributeError):
            code, message = "", ""
        explanation = message.partition("\n")[0][:300] or f"HTTP status {status}"
        if status in (401, 403):
            return self._unavailable(
                f"Nessie refused: {explanation}",
                FailureKind.AUTH_FAILED,
                "correct 'token' in [lake] or its permissions",
            )
        if status == 404 and "NOT_FOUND" in code:
            return NoReferenceError(f"Nessie: {explanation}", where=self.uri)
        if status == 409:
            return MovedError(f"Nessie: {explanation}", where=self.uri)
        if status == 400:
            return LakeError(f"Nessie refused: {explanation}", where=self.uri, remedy="see the server's log")
        kind = FailureKind.QUOTA_EXCEEDED if status == 429 else FailureKind.CONNECTION_FAILED
        return self._unavailable(f"Nessie answered: {explanation}", kind)


def _reference(document: Mapping[str, Any]) -> Reference:
    return Reference(document["name"], document["hash"], document["type"])


def _ref(name: str, hash: str | None = None) -> str:
    """As a part of a path; with a slash in it, a name must be followed by an @."""
    return quote(name, safe="/") + (f"@{hash or ''}" if hash or "/" in name else "")
