"""Functions of text and bytes, and of documents: JSON, CSV, XML, Avro, Protobuf, variants."""

from __future__ import annotations

from tidegate.compiler.analysis.coercion import common_type_of
from tidegate.compiler.analysis.expressions.typed import UNKNOWN, Typed
from tidegate.compiler.analysis.functions.function import (
    ALWAYS,
    IF_FIRST,
    IF_FIRST_TWO,
    NEVER,
    UNSURE,
    Function,
    FunctionCall,
    define,
)
from tidegate.compiler.analysis.functions.result_rules import bytes_or_text, concatenation, declared_schema
from tidegate.datatypes import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    VARIANT,
    DataType,
    array,
    map_of,
    parse_type,
)

__all__ = ["DOCUMENTS", "TEXT"]


def _decoded(call: FunctionCall) -> DataType | Typed:
    """decode(bytes, charset), or decode(value, search, result, …, default)."""
    if len(call.args) < 3:
        return STRING
    results = call.types()[2::2]
    # Without a default, Spark adds a NULL of type string.
    results.append(call.type(len(call.args) - 1) if len(call.args) % 2 == 0 else STRING)
    return Typed(common_type_of(results) or ANY)


def _picked(call: FunctionCall) -> DataType:
    """elt(place, value, …)."""
    return bytes_or_text(*range(1, len(call.args)))(call)


def _joined(call: FunctionCall) -> Typed:
    """concat_ws() leaves NULLs out; only its separator counts."""
    return Typed(STRING, call.args[0].nullable if call.args else None)


def _reversed(call: FunctionCall) -> DataType | Typed:
    kind = call.type(0)
    if kind.kind in ("map", "struct"):
        return call.report_mismatch(f"{call.written_name} takes text or an array, not {kind}")
    return kind if kind.kind in ("array", "?") else STRING


TEXT: list[Function] = [
    *define("bit_length char_length character_length len length octet_length", INT, 1, takes="S"),
    *define("ascii", INT, 1, takes="s"),
    *define("lcase lower ucase upper initcap", STRING, 1, takes="s"),
    *define("soundex", STRING, 1, takes="T"),
    *define("quote", STRING, 1, nulls=ALWAYS, takes="s"),
    *define("base64", STRING, 1, takes="x"),
    *define("char chr", STRING, 1, takes="l"),
    *define("space", STRING, 1, takes="i"),
    *define("md5 sha sha1", STRING, 1, takes="x"),
    *define("sha2", STRING, 2, nulls=ALWAYS, takes="xi"),
    *define("crc32", BIGINT, 1, takes="x"),
    *define("ltrim rtrim trim", STRING, 1, 2, takes="s"),
    *define("btrim", STRING, 1, 2, nulls=UNSURE, takes="s"),
    *define("concat", concatenation, 0, None, nulls=UNSURE),
    *define("concat_ws", _joined, 1, None, takes="s*"),
    *define("contains endswith startswith", BOOLEAN, 2, nulls=UNSURE, takes="S"),
    *define("decode", _decoded, 2, None, nulls=UNSURE),
    *define("elt", _picked, 2, None, nulls=ALWAYS, takes="iS"),
    *define("encode", BINARY, 2, nulls=ALWAYS, takes="s"),
    *define("find_in_set", INT, 2, takes="s"),
    *define("levenshtein", INT, 2, 3, nulls=UNSURE, takes="ssi"),
    *define("format_string printf", STRING, 1, None, nulls=IF_FIRST, takes="s*"),
    *define("instr", INT, 2, takes="s"),
    *define("left", bytes_or_text(0), 2, nulls=UNSURE, takes="Si"),
    *define("right", STRING, 2, nulls=ALWAYS, takes="si"),
    *define("locate position", INT, 2, 3, nulls=IF_FIRST_TWO, takes="ssi"),
    *define("lpad rpad", bytes_or_text(0, 2), 2, 3, nulls=UNSURE, takes="Sis"),
    *define("luhn_check is_valid_utf8", BOOLEAN, 1, nulls=ALWAYS, takes="s"),
    *define("make_valid_utf8 validate_utf8 try_validate_utf8", STRING, 1, nulls=ALWAYS, takes="s"),
    *define("mask", STRING, 1, 5, nulls=ALWAYS, takes="T*"),
    *define("overlay", bytes_or_text(0, 1), 3, 4, nulls=UNSURE),
    *define("parse_url try_parse_url", STRING, 2, 3, nulls=ALWAYS, takes="T"),
    *define("randstr", STRING, 1, 2, nulls=NEVER),
    *define("regexp regexp_like rlike", BOOLEAN, 2, takes="s"),
    *define("like ilike", BOOLEAN, 2, 3, takes="s"),
    *define("regexp_count", INT, 2, nulls=UNSURE, takes="s"),
    *define("regexp_extract", STRING, 2, 3, takes="ssi"),
    *define("regexp_extract_all", array(STRING), 2, 3, takes="ssi"),
    *define("regexp_instr", INT, 2, 3, takes="ssi"),
    *define("regexp_replace", STRING, 3, 4, takes="sssi"),
    *define("regexp_substr", STRING, 2, nulls=ALWAYS, takes="s"),
    *define("repeat", STRING, 2, takes="si"),
    *define("replace", STRING, 2, 3, takes="s"),
    *define("reverse", _reversed, 1, nulls=UNSURE),
    *define("sentences", array(array(STRING)), 1, 3, nulls=UNSURE, takes="s"),
    *define("split", array(STRING), 2, 3, takes="ssi"),
    *define("split_part", STRING, 3, nulls=UNSURE, takes="ssi"),
    *define("str_to_map", map_of(STRING, STRING), 1, 3, takes="T"),
    *define("substr substring", bytes_or_text(0), 2, 3, takes="Sii"),
    *define("substring_index", STRING, 3, takes="ssi"),
    *define("translate", STRING, 3, takes="s"),
    *define("to_binary", BINARY, 1, 2, nulls=UNSURE, takes="s"),
    *define("try_to_binary", BINARY, 1, 2, nulls=ALWAYS, takes="s"),
    *define("to_char to_varchar", STRING, 2, nulls=UNSURE),
    *define("unbase64", BINARY, 1, takes="s"),
    *define("url_decode url_encode try_url_decode", STRING, 1, nulls=ALWAYS, takes="s"),
    *define("aes_encrypt", BINARY, 2, 6, nulls=ALWAYS, takes="xxs*"),
    *define("aes_decrypt try_aes_decrypt", BINARY, 2, 5, nulls=ALWAYS, takes="xxs*"),
]


def _variant_part(call: FunctionCall) -> Typed:
    if len(call.nodes) < 3:
        return Typed(VARIANT, True)
    text = call.text(2)
    return Typed(parse_type(text) or ANY, True) if text is not None else UNKNOWN


def _as_json(call: FunctionCall) -> DataType | Typed:
    kind = call.type(0)
    if kind.kind not in ("struct", "array", "map", "variant", "void", "?"):
        return call.report_mismatch(
            f"to_json takes a struct, an array, a map or a variant, not {kind}", "make a struct of it"
        )
    return STRING


DOCUMENTS: list[Function] = [
    *define("from_json", declared_schema(1), 2, 3, nulls=ALWAYS, takes="T*"),
    *define("from_csv from_xml", declared_schema(1), 2, 3, nulls=UNSURE, takes="T*"),
    *define("get_json_object", STRING, 2, nulls=ALWAYS, takes="T"),
    *define("json_array_length", INT, 1, nulls=ALWAYS, takes="T"),
    *define("json_object_keys", array(STRING), 1, nulls=ALWAYS, takes="T"),
    *define("schema_of_csv schema_of_json schema_of_xml", STRING, 1, 2, nulls=NEVER),
    *define("to_csv", STRING, 1, 2, nulls=UNSURE),
    *define("to_json", _as_json, 1, 2, nulls=UNSURE),
    *define("to_xml", STRING, 1, 2, nulls=UNSURE),
    *define("parse_json", VARIANT, 1, takes="T"),
    *define("try_parse_json", VARIANT, 1, nulls=ALWAYS, takes="T"),
    *define("is_variant_null", BOOLEAN, 1, nulls=NEVER, takes="v"),
    *define("schema_of_variant", STRING, 1, takes="v"),
    *define("to_variant_object", VARIANT, 1),
    *define("variant_get try_variant_get", _variant_part, 2, 3, takes="vT*"),
    *define("from_avro", ANY, 2, 3, nulls=UNSURE),
    *define("to_avro", BINARY, 1, 2, nulls=UNSURE),
    *define("schema_of_avro", STRING, 1, 2, nulls=UNSURE),
    *define("from_protobuf", ANY, 2, 4, nulls=UNSURE),
    *define("to_protobuf", BINARY, 2, 4, nulls=UNSURE),
    *define("xpath", array(STRING), 2, nulls=ALWAYS, takes="T"),
    *define("xpath_boolean", BOOLEAN, 2, nulls=ALWAYS, takes="T"),
    *define("xpath_double xpath_number", DOUBLE, 2, nulls=ALWAYS, takes="T"),
    *define("xpath_float", FLOAT, 2, nulls=ALWAYS, takes="T"),
    *define("xpath_int", INT, 2, nulls=ALWAYS, takes="T"),
    *define("xpath_long", BIGINT, 2, nulls=ALWAYS, takes="T"),
    *define("xpath_short", SMALLINT, 2, nulls=ALWAYS, takes="T"),
    *define("xpath_string", STRING, 2, nulls=ALWAYS, takes="T"),
]
