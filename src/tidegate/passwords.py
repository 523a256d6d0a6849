"""The passwords inside addresses and connection strings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from tidegate.secret_names import looks_secret, names_password

__all__ = ["passwords_in"]

_AUTHORITY = re.compile(r"://([^/?#\s]*)")
_WHOLE = re.compile(r"://([^/?#\s]*:(?!\d+/)[^\s]*)@[^@/\s]+")
"""A password that holds a slash ends what stands before the host too early; a port is none."""
_ORACLE = re.compile(r"(?:jdbc:oracle:\w+:([^/@\s]+)/(?=\S+@)|^\s*(\w+)/(?=\S+@//))(\"[^\"]*\"(?=@)|\S+(?=@))")
"""`jdbc:oracle:thin:user/password@…`, and `user/password@//host` of SQL*Plus."""
_GO = re.compile(r"\s*([^\s:/@]+):(\S+)@(?:\w+\([^()]*\))?/")
"""`user:password@tcp(host:3306)/name`, `user:password@/name`."""
_PLAIN = re.compile(r"\s*([^\s:/@]+):([^\s/@]+)@[\w.-]+(?::\d+)?(?:/\S*)?\s*")
"""`user:password@host:5432/name`."""
_LOOSE = re.compile(r"\b(\w[\w+.-]*)://([^/?#\s:@]+):([^@\n]+)@[\w.\[\]-]+(?=[:/?]|\s*$)")
"""A password with a space, or with digits and a slash: only where nothing else is found."""
_TOKEN = re.compile(r"https?://([^\s:/@?#]{8,})@")
_JSON = re.compile(r'"([\w.-]+)"\s*:\s*"((?:[^"\\]|\\.)*)"')
_PAIR = re.compile(
    r"(^|[?&;,(:\s])([A-Za-z][\w.-]*)\s*=\s*"
    r"('(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|\{(?:[^}]|\}\})*\}|[^&;,)\s]*)"
)
_QUOTES = {"'": "'", '"': '"', "{": "}"}
_UNQUOTED = {
    "?": re.compile(r"[^&\s]*"),
    "&": re.compile(r"[^&\s]*"),
    ";": re.compile(r"[^;]*"),
    ":": re.compile(r"[^;]*"),
    ",": re.compile(r"[^,]*"),
    "(": re.compile(r"[^)]*"),
    " ": re.compile(r"\S*"),
}
"""How far a value without quotes may reach, by what stands before its pair."""


def passwords_in(text: str) -> frozenset[str]:
    """As written and decoded: those of an address (`postgresql://user:password@host`, `…?password=…`), of a connection
    string (`host=… password=…`, `…;Pwd={…}`), and of the forms of Oracle and Go that are no URL."""
    passwords = {*_of_user(text), *_of_pairs(text)}
    passwords |= {value for name, value in _JSON.findall(text) if names_password(name)}
    return frozenset(form for each in passwords for form in (each, unquote(each)) if form)


def _of_user(text: str) -> Iterator[str]:
    has_one = False
    for match in _AUTHORITY.finditer(text):
        before = match[1] if "@" in match[1] else ""
        if not before and (whole := _WHOLE.match(text, match.start())):
            before = f"{whole[1]}@"
        user, colon, password = before.rpartition("@")[0].partition(":")
        if colon:
            has_one = True
            yield _after_user(user, ":", password)
    for scheme, user, password in () if has_one else _LOOSE.findall(text):
        if not (re.match(r"\d+/", password) and scheme.lower() in ("http", "https")):  # a port
            yield _after_user(user, ":", password)
    yield from (token for token in _TOKEN.findall(text) if re.search(r"\d", token))
    if credentials := _GO.match(text) or _PLAIN.fullmatch(text):
        yield _after_user(credentials[1], ":", credentials[2])
    for match in _ORACLE.finditer(text):
        user, password = match[1] or match[2], match[3]
        if password.startswith('"'):
            yield password.strip('"')
        else:
            # An address may hold another @ behind the host.
            yield from (_after_user(user, "/", each) for each in (password, password.partition("@")[0]))


def _after_user(user: str, sign: str, password: str) -> str:
    # Else the word would be gone from each name that holds it, as `postgres` does from postgresql.
    return f"{sign}{password}@" if unquote(password) == unquote(user) else password


def _of_pairs(text: str) -> Iterator[str]:
    is_address = "://" in text
    for match in _PAIR.finditer(text):
        before, name, value = match.groups()
        if not (looks_secret if is_address and before in ("?", "&", ";") else names_password)(name):
            continue
        is_whole = text[match.end() : match.end() + 1] in ("", "&", ";", ",", ")") or text[match.end()].isspace()
        if len(value) > 1 and is_whole and _QUOTES.get(value[0]) == value[-1]:
            yield from _unquoted(value)
            continue
        separator = before if before.strip() else ";" if not before and ";" in text else " "
        reach = _UNQUOTED[separator].match(text, match.start(3))
        for each in (value, reach[0].strip() if reach else ""):
            yield from (each, each.strip("'\""))


def _unquoted(value: str) -> Iterator[str]:
    """The value as written between its quotes, and unescaped: a quote in it is doubled, or has a backslash."""
    inner, end = value[1:-1], value[-1]
    yield from (inner, inner.replace(end * 2, end))
    if end != "}":
        yield re.sub(r"\\(.)", r"\1", inner)
