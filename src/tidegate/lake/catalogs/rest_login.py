"""A token from an OAuth2 server for a client's id and secret, fetched again before it ends."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from urllib.parse import urlencode

from tidegate.config import RestServer
from tidegate.errors import FailureKind, LakeError
from tidegate.failures import kind_of_status
from tidegate.lake.catalogs.json_server import JsonServer

__all__ = ["TokenServer"]

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
