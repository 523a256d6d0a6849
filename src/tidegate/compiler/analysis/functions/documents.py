"""Functions of JSON, CSV, XML, Avro, Protobuf and variants."""

from __future__ import annotations

from tidegate.compiler.analysis.functions.results import declared_schema
from tidegate.compiler.analysis.functions.values import ALWAYS, NEVER, UNSURE, Call, Function, of
from tidegate.compiler.analysis.values import UNKNOWN, Typed
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
    parse_type,
)

__all__ = ["DOCUMENTS"]


def _variant_part(call: Call) -> Typed:
    if len(call.nodes) < 3:
        return Typed(VARIANT, True)
    text = call.text(2)
    return Typed(parse_type(text) or ANY, True) if text is not None else UNKNOWN


def _as_json(call: Call) -> DataType | Typed:
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
