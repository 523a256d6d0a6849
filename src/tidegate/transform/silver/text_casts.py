"""Text → a value of the declared type, as Spark SQL that gives NULL where the text is no such value.

Nothing is rounded, cut or guessed:

- integers may stand among blanks, and may have a point with nothing but zeros after it (`1.0` is 1); exponents are
  refused
- decimals fit precision and scale, zeros at the end aside; exponents are followed (`1.5e3` is 1500)
- float and double take NaN and Infinity; a number too large or too close to 0 for them is refused, and so are
  Java's `1d` and `0x1p3`
- booleans are true, false, t, f, yes, no, y, n, 1 and 0, in any case
- text stays as it is, blanks included, if it is not longer than varchar(n) or char(n) allows
- arrays, maps and structs are read from JSON; each value inside is cast by these rules
- dates and timestamps: see `time_casts`
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.contracts.ingestion import SilverColumn
from tidegate.datatypes import STRING, DataType, parse_type
from tidegate.errors import QueryError
from tidegate.names import literal, quote
from tidegate.transform.silver.json_text import CORRUPT, map_leaves, parsed_json, unmarked
from tidegate.transform.silver.text_reading import TextReading
from tidegate.transform.silver.time_casts import TimeRules, read_date, read_timestamp, time_rules

__all__ = ["BOOLEANS", "ColumnCast", "column_cast", "part_cast"]

_LENGTH = re.compile(r"^\s*(?:var)?char(?:acter)?\s*\(\s*(\d+)\s*\)\s*$", re.IGNORECASE)
_LONGEST = 400
"""The most bytes that a number, a boolean or a time takes: Java needs minutes for a number of a million digits."""
BOOLEANS = {True: ("true", "t", "yes", "y", "1"), False: ("false", "f", "no", "n", "0")}
"""How each is spelt, in lower case."""
_TRUE, _FALSE = (", ".join(map(literal, BOOLEANS[value])) for value in (True, False))
_WHOLE = literal(r"^\s*[+-]?\d+\.0*\s*$")
_JAVA_NUMBER = literal(r"[xXpP]|\d\.?[dDfF]")
_INFINITE = literal("[iI][nN][fF]")
_NOT_ZERO = literal(r"^\s*[+-]?[0.]*[1-9]")
_HUGE_EXPONENT = literal(r"[eE][+-]?0*[1-9]\d{3}")


@dataclass(frozen=True, slots=True)
class ColumnCast:
    column: SilverColumn
    type: DataType
    length: int | None
    """Of varchar and char."""

    times: TimeRules
    is_json: bool
    """A string that holds a JSON object."""

    @property
    def expected(self) -> str:
        """After "is not"."""
        if self.is_json:
            return "a JSON object"
        article = "an" if self.type.text[0] in "aeiou" else "a"
        if self.type.is_nested:
            return f"JSON of the type {self.type.text}"
        return f"{article} {self.type.text}{self.times.about}"

    @property
    def complaint(self) -> str:
        """After the value."""
        if self.length is not None:
            return f"is longer than the {self.length} characters of {self.column.type}"
        return f"is not {self.expected}"

    @property
    def can_fail(self) -> bool:
        return self.is_json or self.length is not None or self.type not in (STRING, DataType("binary"))

    def parsed(self, text: str) -> str | None:
        """The text as nested values that are still text; None where the type is not nested."""
        return parsed_json(text, self.type) if self.type.is_nested else None

    def read(self, text: str, parsed: str | None = None) -> TextReading:
        """`parsed` for a nested type."""
        return _scalar(text, self) if parsed is None else TextReading(self._nested(parsed))

    def value(self, text: str) -> str:
        """NULL where the text is no such value."""
        return _scalar(text, self).value

    def _nested(self, parsed: str) -> str:
        texts = map_leaves(parsed, self.type, lambda leaf, _: unmarked(leaf))
        value = map_leaves("__texts", self.type, self._leaf)
        fails = [self._fails("__texts", self.type)]
        if self.type.kind == "struct":
            fails.append(f"{parsed}.{CORRUPT} IS NOT NULL")
        checked = f"CASE WHEN NOT ({' OR '.join(fails)}) THEN {value} END"
        # A lambda over one element gives a name to what is used twice.
        return f"CASE WHEN {parsed} IS NOT NULL THEN element_at(transform(array({texts}), __texts -> {checked}), 1) END"

    def _leaf(self, text: str, kind: DataType) -> str:
        return ColumnCast(self.column, kind, None, self.times, is_json=False).value(text)

    def _fails(self, value: str, kind: DataType, depth: int = 0) -> str:
        """Whether a text inside the value is none of its type, or a map has a key twice."""
        name = f"__f{depth}"
        match kind.kind:
            case "array":
                return f"coalesce(exists({value}, {name} -> {self._fails(name, kind.args[0], depth + 1)}), false)"
            case "struct":
                return " OR ".join(f"({self._fails(f'{value}.{quote(own)}', part, depth)})" for own, part in kind.args)
            case "map":
                keys = f"transform(map_keys({value}), {name} -> {self._leaf(name, kind.args[0])})"
                inside = self._fails(name, kind.args[1], depth + 1)
                return (
                    f"coalesce(size(array_distinct({keys})) < size({keys}) OR exists({keys}, {name} -> {name} IS NULL)"
                    f" OR exists(map_values({value}), {name} -> {inside}), false)"
                )
            case "string" | "binary":
                return "false"
            case _:
                return f"({value} IS NOT NULL AND {self._leaf(value, kind)} IS NULL)"


def column_cast(column: SilverColumn, session_zone: str) -> ColumnCast:
    kind = parse_type(column.type)
    if kind is None:
        raise QueryError(f"'{column.type}', the type of column '{column.name}', is no type that Spark has")
    length = _LENGTH.match(column.type)
    is_json = kind == STRING and column.logical_type == "object"
    return ColumnCast(column, kind, int(length[1]) if length else None, time_rules(column, kind, session_zone), is_json)


def part_cast(part: SilverColumn, kind: DataType) -> ColumnCast:
    """Of what is inside a column, which that column's cast has made."""
    length = _LENGTH.match(part.type)
    is_json = kind == STRING and part.logical_type == "object"
    return ColumnCast(part, kind, int(length[1]) if length else None, TimeRules(), is_json)


def _scalar(text: str, cast: ColumnCast) -> TextReading:
    match cast.type.kind:
        case "string":
            return TextReading(_text(text, cast))
        case "binary":
            return TextReading(f"CAST({text} AS BINARY)")
        case "variant":
            return TextReading(f"try_parse_json({text})")
        case "boolean":
            folded = f"lower(trim({text}))"
            read = TextReading(f"CASE WHEN {folded} IN ({_TRUE}) THEN true WHEN {folded} IN ({_FALSE}) THEN false END")
        case "tinyint" | "smallint" | "int" | "bigint" as kind:
            whole = f"CASE WHEN {text} RLIKE {_WHOLE} THEN try_cast(split_part({text}, '.', 1) AS {kind}) END"
            read = TextReading(f"coalesce(try_cast({text} AS {kind}), {whole})")
        case "float" | "double" as kind:
            read = _floating(text, kind)
        case "decimal":
            # Java reads the digits of every alphabet.
            read = TextReading(
                f"CASE WHEN octet_length({text}) = char_length({text}) THEN {_decimal(text, cast.type)} END"
            )
        case "date":
            read = read_date(text, cast.times)
        case "timestamp" | "timestamp_ntz" as kind:
            read = read_timestamp(text, kind, cast.times)
        case _:
            read = TextReading(f"try_cast({text} AS {cast.type.sql})")
    return TextReading(f"CASE WHEN octet_length({text}) <= {_LONGEST} THEN {read.cast} END", read.is_right)


def _text(text: str, cast: ColumnCast) -> str:
    if cast.is_json:
        return f"CASE WHEN {text} RLIKE '^\\\\s*[{{]' AND try_parse_json({text}) IS NOT NULL THEN {text} END"
    return text if cast.length is None else f"CASE WHEN char_length({text}) <= {cast.length} THEN {text} END"


def _floating(text: str, kind: str) -> TextReading:
    """What Java takes and should not has a letter, or is infinite or 0. Of a text that begins with a digit above 0 and
    ends with a digit that is known without a pattern: only an exponent is left, and then the value tells."""
    starts = [f"{text} >= '{sign}1' AND {text} < '{sign}:' OR startswith({text}, '{sign}0.')" for sign in ("", "-")]
    has_digits = f"({' OR '.join(starts)}) AND contains('0123456789', right({text}, 1))"

    def is_right(value: str) -> str:
        infinite = f"abs({value}) = CAST('Infinity' AS {kind})"
        usual = f"{has_digits} AND NOT {infinite} AND ({value} <> 0 OR {text} IN ('0.0', '0.00'))"
        is_zero = f"{value} = 0 AND {text} RLIKE {_NOT_ZERO}"
        taken = f"NOT {text} RLIKE {_JAVA_NUMBER} AND (NOT {infinite} OR {text} RLIKE {_INFINITE}) AND NOT ({is_zero})"
        return f"({usual} OR {taken})"

    return TextReading(f"try_cast({text} AS {kind})", is_right)


def _decimal(text: str, kind: DataType) -> str:
    """Spark rounds what does not fit the scale, so the digits after the point are counted."""
    scale, value = kind.args[1], f"try_cast({text} AS {kind.text})"
    plain = f"NOT contains({text}, 'e') AND NOT contains({text}, 'E')"
    short = f"NOT contains(substring({text}, 1, octet_length({text}) - {scale + 1}), '.')"
    whole = f"regexp_extract({text}, '^\\\\s*[+-]?(\\\\d*)', 1)"
    fraction = f"regexp_extract({text}, '[.](\\\\d*)', 1)"
    digits = f"rtrim('0', concat({whole}, {fraction}))"
    exponent = f"coalesce(try_cast(nullif(regexp_extract({text}, '[eE]([+-]?\\\\d+)', 1), '') AS INT), 0)"
    trailing = f"(char_length(concat({whole}, {fraction})) - char_length({digits}))"
    exact = f"({digits} = '' OR char_length({fraction}) - {trailing} - {exponent} <= {scale})"
    return (
        f"CASE WHEN {plain} AND {short} THEN {value} WHEN {text} RLIKE {_HUGE_EXPONENT} THEN NULL "
        f"WHEN {exact} THEN {value} END"
    )
