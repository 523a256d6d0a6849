"""The `format` of ODCS strings and integers, as Spark SQL conditions that hold for values of the format."""

from __future__ import annotations

from tidegate.names import literal

__all__ = ["INTEGER_FORMATS", "TEXT_FORMATS", "text_has_format"]

_LABEL = "[A-Za-z0-9][A-Za-z0-9-]{0,62}+(?<!-)"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"(?:{_BYTE}\.){{3}}{_BYTE}"
_GROUP = "[0-9A-Fa-f]{1,4}"
_IPV6 = "|".join(
    [
        f"(?:{_GROUP}:){{7}}{_GROUP}",
        f"(?:{_GROUP}:){{1,7}}:",
        *(f"(?:{_GROUP}:){{1,{7 - n}}}(?::{_GROUP}){{1,{n}}}" for n in range(1, 7)),
        f":(?::{_GROUP}){{1,7}}",
        "::",
        f"(?:{_GROUP}:){{6}}{_IPV4}",
        f"(?:{_GROUP}:){{0,5}}:(?:{_GROUP}:){{0,4}}{_IPV4}",
        f"::(?:{_GROUP}:){{0,5}}{_IPV4}",
    ]
)
_DAY = r"(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"

_PATTERNS = {
    "email": rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]++@{_LABEL}(?:\.{_LABEL})++",
    "uuid": "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+",
    "hostname": rf"(?=.{{1,253}}\z){_LABEL}(?:\.{_LABEL})*",
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "byte": "(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    "time": _TIME,
}
"""For the whole of a value; the others of the standard (`password`, `binary`) ask nothing of it."""

TEXT_FORMATS = (*_PATTERNS, "date", "date-time", "password", "binary")

INTEGER_FORMATS = {
    **{f"i{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
    "u128": (0, 10**38 - 1),
}
"""The least and the greatest value; i128 and u128 hold more than Spark's numbers do."""


def text_has_format(value: str, name: str) -> str | None:
    """None where every text is of the format, or the format is not known."""
    if name in ("date", "date-time"):
        pattern = _DAY if name == "date" else f"{_DAY}[Tt ]{_TIME}"
        whole = literal(rf"\A(?:{pattern})\z")
        return f"{value} RLIKE {whole} AND try_cast(left({value}, 10) AS DATE) IS NOT NULL"
    if name not in _PATTERNS:
        return None
    whole = literal(rf"\A(?:{_PATTERNS[name]})\z")
    return f"{value} RLIKE {whole}"
