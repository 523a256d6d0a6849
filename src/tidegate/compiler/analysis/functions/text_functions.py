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
    of,
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
    # Where nothing is said for all other values, Spark takes a NULL of type string.
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
        return call.refuse(f"{call.shown} takes text or an array, not {kind}")
    return kind if kind.kind in ("array", "?") else STRING


TEXT: list[Function] = [
    *of("bit_length char_length character_length len length octet_length", INT, 1, takes="S"),
    *of("ascii", INT, 1, takes="s"),
    *of("lcase lower ucase upper initcap", STRING, 1, takes="s"),
    *of("soundex", STRING, 1, takes="T"),
    *of("quote", STRING, 1, nulls=ALWAYS, takes="s"),
    *of("base64", STRING, 1, takes="x"),
    *of("char chr", STRING, 1, takes="l"),
    *of("space", STRING, 1, takes="i"),
    *of("md5 sha sha1", STRING, 1, takes="x"),
    *of("sha2", STRING, 2, nulls=ALWAYS, takes="xi"),
    *of("crc32", BIGINT, 1, takes="x"),
    *of("ltrim rtrim trim", STRING, 1, 2, takes="s"),
    *of("btrim", STRING, 1, 2, nulls=UNSURE, takes="s"),
    *of("concat", concatenation, 0, None, nulls=UNSURE),
    *of("concat_ws", _joined, 1, None, takes="s*"),
    *of("contains endswith startswith", BOOLEAN, 2, nulls=UNSURE, takes="S"),
    *of("decode", _decoded, 2, None, nulls=UNSURE),
    *of("elt", _picked, 2, None, nulls=ALWAYS, takes="iS"),
    *of("encode", BINARY, 2, nulls=ALWAYS, takes="s"),
    *of("find_in_set", INT, 2, takes="s"),
    *of("levenshtein", INT, 2, 3, nulls=UNSURE, takes="ssi"),
    *of("format_string printf", STRING, 1, None, nulls=IF_FIRST, takes="s*"),
    *of("instr", INT, 2, takes="s"),
    *of("left", bytes_or_text(0), 2, nulls=UNSURE, takes="Si"),
    *of("right", STRING, 2, nulls=ALWAYS, takes="si"),
    *of("locate position", INT, 2, 3, nulls=IF_FIRST_TWO, takes="ssi"),
    *of("lpad rpad", bytes_or_text(0, 2), 2, 3, nulls=UNSURE, takes="Sis"),
    *of("luhn_check is_valid_utf8", BOOLEAN, 1, nulls=ALWAYS, takes="s"),
    *of("make_valid_utf8 validate_utf8 try_validate_utf8", STRING, 1, nulls=ALWAYS, takes="s"),
    *of("mask", STRING, 1, 5, nulls=ALWAYS, takes="T*"),
    *of("overlay", bytes_or_text(0, 1), 3, 4, nulls=UNSURE),
    *of("parse_url try_parse_url", STRING, 2, 3, nulls=ALWAYS, takes="T"),
    *of("randstr", STRING, 1, 2, nulls=NEVER),
    *of("regexp regexp_like rlike", BOOLEAN, 2, takes="s"),
    *of("like ilike", BOOLEAN, 2, 3, takes="s"),
    *of("regexp_count", INT, 2, nulls=UNSURE, takes="s"),
    *of("regexp_extract", STRING, 2, 3, takes="ssi"),
    *of("regexp_extract_all", array(STRING), 2, 3, takes="ssi"),
    *of("regexp_instr", INT, 2, 3, takes="ssi"),
    *of("regexp_replace", STRING, 3, 4, takes="sssi"),
    *of("regexp_substr", STRING, 2, nulls=ALWAYS, takes="s"),
    *of("repeat", STRING, 2, takes="si"),
    *of("replace", STRING, 2, 3, takes="s"),
    *of("reverse", _reversed, 1, nulls=UNSURE),
    *of("sentences", array(array(STRING)), 1, 3, nulls=UNSURE, takes="s"),
    *of("split", array(STRING), 2, 3, takes="ssi"),
    *of("split_part", STRING, 3, nulls=UNSURE, takes="ssi"),
    *of("str_to_map", map_of(STRING, STRING), 1, 3, takes="T"),
    *of("substr substring", bytes_or_text(0), 2, 3, takes="Sii"),
    *of("substring_index", STRING, 3, takes="ssi"),
    *of("translate", STRING, 3, takes="s"),
    *of("to_binary", BINARY, 1, 2, nulls=UNSURE, takes="s"),
    *of("try_to_binary", BINARY, 1, 2, nulls=ALWAYS, takes="s"),
    *of("to_char to_varchar", STRING, 2, nulls=UNSURE),
    *of("unbase64", BINARY, 1, takes="s"),
    *of("url_decode url_encode try_url_decode", STRING, 1, nulls=ALWAYS, takes="s"),
    *of("aes_encrypt", BINARY, 2, 6, nulls=ALWAYS, takes="xxs*"),
    *of("aes_decrypt try_aes_decrypt", BINARY, 2, 5, nulls=ALWAYS, takes="xxs*"),
]


def _variant_part(call: FunctionCall) -> Typed:
    if len(call.nodes) < 3:
        return Typed(VARIANT, True)
    text = call.text(2)
    return Typed(parse_type(text) or ANY, True) if text is not None else UNKNOWN


def _as_json(call: FunctionCall) -> DataType | Typed:
    kind = call.type(0)
    if kind.kind not in ("struct", "array", "map", "variant", "void", "?"):
        return call.refuse(f"to_json takes a struct, an array, a map or a variant, not {kind}", "make a struct of it")
    return STRING


DOCUMENTS: list[Function] = [
    *of("from_json", declared_schema(1), 2, 3, nulls=ALWAYS, takes="T*"),
    *of("from_csv from_xml", declared_schema(1), 2, 3, nulls=UNSURE, takes="T*"),
    *of("get_json_object", STRING, 2, nulls=ALWAYS, takes="T"),
    *of("json_array_length", INT, 1, nulls=ALWAYS, takes="T"),
    *of("json_object_keys", array(STRING), 1, nulls=ALWAYS, takes="T"),
    *of("schema_of_csv schema_of_json schema_of_xml", STRING, 1, 2, nulls=NEVER),
    *of("to_csv", STRING, 1, 2, nulls=UNSURE),
    *of("to_json", _as_json, 1, 2, nulls=UNSURE),
    *of("to_xml", STRING, 1, 2, nulls=UNSURE),
    *of("parse_json", VARIANT, 1, takes="T"),
    *of("try_parse_json", VARIANT, 1, nulls=ALWAYS, takes="T"),
    *of("is_variant_null", BOOLEAN, 1, nulls=NEVER, takes="v"),
    *of("schema_of_variant", STRING, 1, takes="v"),
    *of("to_variant_object", VARIANT, 1),
    *of("variant_get try_variant_get", _variant_part, 2, 3, takes="vT*"),
    *of("from_avro", ANY, 2, 3, nulls=UNSURE),
    *of("to_avro", BINARY, 1, 2, nulls=UNSURE),
    *of("schema_of_avro", STRING, 1, 2, nulls=UNSURE),
    *of("from_protobuf", ANY, 2, 4, nulls=UNSURE),
    *of("to_protobuf", BINARY, 2, 4, nulls=UNSURE),
    *of("xpath", array(STRING), 2, nulls=ALWAYS, takes="T"),
    *of("xpath_boolean", BOOLEAN, 2, nulls=ALWAYS, takes="T"),
    *of("xpath_double xpath_number", DOUBLE, 2, nulls=ALWAYS, takes="T"),
    *of("xpath_float", FLOAT, 2, nulls=ALWAYS, takes="T"),
    *of("xpath_int", INT, 2, nulls=ALWAYS, takes="T"),
    *of("xpath_long", BIGINT, 2, nulls=ALWAYS, takes="T"),
    *of("xpath_short", SMALLINT, 2, nulls=ALWAYS, takes="T"),
    *of("xpath_string", STRING, 2, nulls=ALWAYS, takes="T"),
]
