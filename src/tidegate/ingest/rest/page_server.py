"""The HTTP side of a REST source: one origin, to which alone credentials are sent.

Neither a redirect nor a link of a page leads to another origin: the read fails there. Failures name the path of a page
and never its query, which may hold credentials.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from tidegate.config import RestSource
from tidegate.config.rest_source import ApiKey, BasicAuth, BearerToken, ClientCredentials
from tidegate.errors import FailureKind, SourceError
from tidegate.http_client import HttpClient, HttpRetryPolicy, Reply, Timing
from tidegate.redaction import Secret, looks_secret, redact, register

__all__ = ["PageServer", "RawPage", "with_parameters", "without_secrets"]

_MAX_BYTES = 256 * 2**20
_MOST_REDIRECTS = 5
_SECRET = 8
"""Characters of a secret that is looked for inside other values too."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RETRY = HttpRetryPolicy(attempts=4, first_pause=0.5, longest_pause=10.0, longest_retry_after=120.0)

_STATUSES = {
    401: ("the credentials were refused", "correct the credentials in {place}"),
    403: ("the credentials may not read this", "give them the permission to read it, or correct those in {place}"),
    404: ("there is no such page", "correct 'endpoint' of the contract, or base_url in {place}"),
    410: ("there is no such page any more", "correct 'endpoint' of the contract"),
    429: ("too many requests", "repeat the command later: it continues where it stopped"),
}
"""What a status means, and what to do about it."""


@dataclass(frozen=True, slots=True)
class RawPage:
    body: bytes
    """As it was delivered."""

    target: str
    """Path and query that gave it."""

    headers: Mapping[str, str]
    """With names in lower case."""


class PageServer:
    """`source`: the name in `[sources.NAME]`, which may not be there; then no credentials are sent."""

    def __init__(self, endpoint: str, name: str, source: RestSource | None, timing: Timing) -> None:
        self._name = name
        self._source = source
        self._auth = None if source is None else source.auth
        self._timing = timing
        base = None if source is None else f"{source.base_url}/"
        url = endpoint if "://" in endpoint or base is None else base + endpoint.lstrip("/")
        self._origin = _origin(url) or ""
        if not self._origin:
            message = f"the endpoint '{_without_credentials(endpoint)}' is no address"
            remedy = f"write https://… as 'endpoint', or give base_url in [sources.{name}] of kind rest"
            if "@" in endpoint:
                message = f"the endpoint '{_without_credentials(endpoint)}' has a user in it"
                remedy = f"write the credentials in [sources.{name}] of kind rest, and the address without them"
            raise self._error(message, FailureKind.QUERY_REJECTED, remedy=remedy)
        if source is not None and self._origin != _origin(source.base_url):
            remedy = f"write 'endpoint' relative to base_url, or a source of its own for {self._origin}"
            message = "the endpoint is on another server than base_url, which must not get the credentials"
            raise self._error(message, FailureKind.QUERY_REJECTED, remedy=remedy)
        self._token: Secret | None = None
        self.target = self._target(url)
        headers = {} if source is None else {key: value.reveal() for key, value in source.headers.items()}
        timeout = 60.0 if source is None else source.timeout.total_seconds()
        self._client = HttpClient(self._origin, headers, timeout=timeout, max_bytes=_MAX_BYTES, timing=timing)

    def close(self) -> None:
        self._client.close()

    def get(self, target: str) -> RawPage:
        """`target`: path and query. Raises SourceError."""
        at = target
        for _redirect in range(_MOST_REDIRECTS + 1):
            reply = self._send(at)
            if reply.kind is None:
                return RawPage(self._body(reply, at), target, reply.headers)
            location = reply.headers.get("location")
            if reply.status not in _REDIRECTS or not location:
                raise self._failure(reply, at)
            at = self.follow(at, location, "the server redirects")
        raise self._error("the server redirects in a circle", FailureKind.QUERY_REJECTED, at)

    def follow(self, target: str, link: str, what: str = "the next page is") -> str:
        """The path and query that `link`, as the page at `target` has it, leads to. Raises SourceError for another
        server: its address is not shown with its query."""
        try:
            url = urljoin(self._origin + target, link)
        except ValueError:
            url = ""
        origin = _origin(url)
        secure = self._origin.startswith("https://")
        if secure and origin == self._origin.replace("https://", "http://", 1):
            origin = self._origin  # behind a proxy that ends TLS, a server does not know that it is https
        if origin != self._origin:
            message = f"{what} on another server, {origin or 'which is no address'}; the credentials are not sent there"
            remedy = f"read that server as a source of its own, or correct base_url in [sources.{self._name}]"
            raise self._error(message, FailureKind.QUERY_REJECTED, target, remedy)
        target = self._target(url)
        path = target.partition("?")[0]
        if any(len(secret) >= _SECRET and secret in path and secret not in self.target for secret in self._secrets()):
            message = f"{what} at a path that holds a secret of [sources.{self._name}], which no manifest may have"
            raise self._error(message, FailureKind.QUERY_REJECTED, target)
        return target

    def unexpected(
        self,
        message: str,
        target: str,
        kind: FailureKind = FailureKind.QUERY_REJECTED,
        remedy: str | None = None,
    ) -> SourceError:
        return self._error(message, kind, target, remedy)

    def _target(self, url: str) -> str:
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        name = self._auth.name if isinstance(self._auth, ApiKey) and self._auth.in_query else None
        return without_secrets(target, name, self._secrets())

    def _secrets(self) -> list[str]:
        """What the server knows already, and may repeat in an address."""
        match self._auth:
            case BearerToken():
                secrets = [self._auth.token]
            case BasicAuth():
                secrets = [self._auth.password]
            case ApiKey():
                secrets = [self._auth.key]
            case ClientCredentials():
                secrets = [self._auth.client_secret, *([self._token] if self._token else [])]
            case _:
                secrets = []
        if self._source is not None:
            secrets += [value for name, value in self._source.headers.items() if looks_secret(name)]
        return [text for secret in secrets if (text := secret.reveal())]

    def _send(self, target: str) -> Reply:
        reply = self._attempt(target)
        if reply.status == 401 and isinstance(self._auth, ClientCredentials) and self._token is not None:
            self._token = None  # it has expired
            reply = self._attempt(target)
        return reply

    def _attempt(self, target: str) -> Reply:
        auth, headers = self._auth, {}
        match auth:
            case BearerToken():
                headers["Authorization"] = f"Bearer {auth.token.reveal()}"
            case BasicAuth():
                pair = f"{auth.user}:{auth.password.reveal()}".encode()
                headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
            case ApiKey(in_query=True):
                target = with_parameters(target, {auth.name: auth.key.reveal()})
            case ApiKey():
                headers[auth.name] = auth.key.reveal()
            case ClientCredentials():
                self._token = self._token or self._fetch_token(auth)
                headers["Authorization"] = f"Bearer {self._token.reveal()}"
        return self._client.send("GET", target, headers=headers, repeatable=True, retry=_RETRY)

    def _fetch_token(self, auth: ClientCredentials) -> Secret:
        form = {
            "grant_type": "client_credentials",
            "client_id": auth.client_id,
            "client_secret": auth.client_secret.reveal(),
            **({"scope": auth.scope} if auth.scope else {}),
        }
        client = HttpClient(auth.token_url, timeout=30.0, max_bytes=2**20, timing=self._timing)
        try:
            content_type = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
            body = urlencode(form).encode()
            reply = client.send("POST", content=body, headers=content_type, repeatable=True, retry=_RETRY)
        finally:
            client.close()
        if reply.kind is not None:
            refused = reply.status is not None and 400 <= reply.status < 500 and not reply.may_pass
            kind = FailureKind.AUTH_FAILED if refused else reply.kind
            why = f"HTTP {reply.status}" if reply.status else reply.reason
            remedy = f"correct client_id, client_secret and token_url in [sources.{self._name}]"
            raise self._error(f"no token was given: {why}", kind, where=auth.token_url, remedy=remedy)
        try:
            token = json.loads(reply.body)["access_token"]
        except (ValueError, KeyError, TypeError):
            token = None
        if not isinstance(token, str) or not token:
            message = "the server of tokens answers without an access_token"
            raise self._error(message, FailureKind.AUTH_FAILED, where=auth.token_url)
        register(token)
        return Secret(token)

    def _body(self, reply: Reply, target: str) -> bytes:
        if len(reply.body) >= _MAX_BYTES:
            raise self._error(f"the page is longer than {_MAX_BYTES} bytes", FailureKind.QUERY_REJECTED, target)
        encoding = reply.headers.get("content-encoding", "identity").lower()
        if encoding in ("identity", ""):
            return reply.body
        try:
            if encoding == "gzip":  # though it was not accepted
                return gzip.decompress(reply.body)
        except (OSError, EOFError, zlib.error):
            raise self._error("the page breaks off", FailureKind.CONNECTION_FAILED, target) from None
        message = f"the page is compressed ({encoding}), which was not asked for"
        raise self._error(message, FailureKind.QUERY_REJECTED, target)

    def _failure(self, reply: Reply, target: str) -> SourceError:
        assert reply.kind is not None
        place, kind = f"[sources.{self._name}]", reply.kind
        if reply.status is None:
            message = "no response in time" if kind is FailureKind.TIMEOUT else f"cannot be reached: {reply.reason}"
            remedy = "check that this machine may reach it (HTTPS_PROXY, NO_PROXY), and repeat the command"
            if reply.untrusted:
                remedy = "name the certificates that this machine trusts in SSL_CERT_FILE"
            kind = FailureKind.CONNECTION_FAILED if kind is FailureKind.TIMEOUT else kind
        elif reply.status in _STATUSES:
            meaning, remedy = _STATUSES[reply.status]
            message = f"{meaning} (HTTP {reply.status})"
        elif reply.status >= 500:
            message = f"the server has a problem (HTTP {reply.status})"
            remedy = "repeat the command later: it continues where it stopped"
        else:
            message, remedy = f"the request was refused (HTTP {reply.status})", "correct 'endpoint' of the contract"
            kind = kind if reply.may_pass else FailureKind.QUERY_REJECTED
        if reply.status == 401 and self._auth is None:
            remedy = "give the credentials in {place} of kind rest"
        error = self._error(message, kind, target, remedy.replace("{place}", place))
        error.retry_after = reply.retry_after
        return error

    def _error(
        self, message: str, kind: FailureKind, target: str = "", remedy: str | None = None, where: str | None = None
    ) -> SourceError:
        path = target.partition("?")[0]
        return SourceError(
            redact(f"source '{self._name}': {message}"),
            source=self._name,
            kind=kind,
            where=redact(where or f"{self._origin}{path}" or f"[sources.{self._name}]"),
            remedy=remedy or f"correct 'endpoint' and 'pagination' of the contract, or [sources.{self._name}]",
        )


def with_parameters(target: str, parameters: Mapping[str, str]) -> str:
    """The same path and query with these parameters, in place of those of the same names."""
    path, _, query = target.partition("?")
    kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in parameters]
    return f"{path}?{urlencode([*kept, *parameters.items()])}"


def without_secrets(target: str, name: str | None, secrets: Collection[str]) -> str:
    """Without the parameter of that name, and those that hold a secret: a server may repeat it under another name, and
    the target is written to the manifest."""
    path, _, query = target.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    kept = [
        (key, value) for key, value in pairs if key != name and not any(secret in (key, value) for secret in secrets)
    ]
    kept = [(key, value) for key, value in kept if not any(len(s) >= _SECRET and s in value for s in secrets)]
    if len(kept) == len(pairs):
        return target
    return f"{path}?{urlencode(kept)}" if kept else path


def _without_credentials(endpoint: str) -> str:
    return re.sub(r"//[^/?#]*@", "//", endpoint.partition("?")[0])


def _origin(url: str) -> str | None:
    """Scheme, host and port; None for what is no address of HTTP, or holds a user."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    standard = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if port in (None, standard) else f":{port}")
