"""Plans made by hand to get out: each is refused, however deep it is hidden, before anything is sent to Spark."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest
from pyspark.sql.connect.proto import (
    base_pb2,
    catalog_pb2,
    commands_pb2,
    expressions_pb2,
    ml_pb2,
    relations_pb2,
    types_pb2,
)

from tests.python_models.connect.checked import checked, plan_check, refusal_of
from tests.python_models.connect.test_message_rules import reachable
from tidegate.config import SandboxSection
from tidegate.python_models.connect.message_rules import PREFIX
from tidegate.python_models.connect.plan_check import RULES
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError

Relation, Read, Expression = relations_pb2.Relation, relations_pb2.Read, expressions_pb2.Expression
DataType, Command = types_pb2.DataType, commands_pb2.Command
RANGE = Relation(range=relations_pb2.Range(end=1, step=1))
UDF = expressions_pb2.CommonInlineUserDefinedFunction(
    function_name="f",
    python_udf=expressions_pb2.PythonUDF(
        output_type=DataType(long=DataType.Long()), eval_type=200, command=b"x", python_ver="3.11"
    ),
)


def table(name: str, **more: Any) -> Relation:
    return Relation(read=Read(named_table=Read.NamedTable(unparsed_identifier=name, **more)))


def source(**what: Any) -> Relation:
    return Relation(read=Read(data_source=Read.DataSource(**what)))


def call(name: str, *arguments: Expression, **more: Any) -> Expression:
    function = Expression.UnresolvedFunction(function_name=name, arguments=arguments, **more)
    return Expression(unresolved_function=function)


def text(value: str) -> Expression:
    return Expression(literal=Expression.Literal(string=value))


def project(*expressions: Expression) -> Relation:
    return Relation(project=relations_pb2.Project(input=RANGE, expressions=expressions))


def number(value: int) -> Expression:
    return Expression(literal=Expression.Literal(integer=value))


def expression_text(value: str) -> Expression:
    return Expression(expression_string=Expression.ExpressionString(expression=value))


def hint(name: str, *parameters: Expression) -> Relation:
    return Relation(hint=relations_pb2.Hint(input=RANGE, name=name, parameters=parameters))


def range_function(*arguments: Expression) -> Relation:
    function = relations_pb2.UnresolvedTableValuedFunction(function_name="Range", arguments=arguments)
    return Relation(unresolved_table_valued_function=function)


def schema_with(metadata: dict[str, Any], kind: Any = "integer") -> str:
    return json.dumps(
        {"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": metadata}]}
    )


UDT = {"type": "udt", "class": "java.lang.Runtime", "sqlType": "integer"}

NAMES = [
    "silver.secrets",
    "gold.orders",
    "view_orders",
    "global_temp.view_orders",
    "`global_temp`.`view_orders`",
    "csv.`/etc/passwd`",
    "parquet.`/data`",
    "ref shop.silver.secrets",
    "ref shop.silver.orders.files",
    "ref shop.silver.orders, shop.silver.secrets",
    "changes shop.silver.orders",
    "landing_zone other",
    "this",
    "spark_catalog.default.x",
    "main.shop.silver.orders",
    "",
    "ref ",
    "ref",
]

RELATIONS = {
    **{f"table {name}": table(name) for name in NAMES},
    "options of a table": table("ref shop.silver.orders", options={"path": "/etc/passwd"}),
    "stream of a table": Relation(
        read=Read(named_table=Read.NamedTable(unparsed_identifier="ref shop.silver.orders"), is_streaming=True)
    ),
    "no table": Relation(read=Read()),
    "csv": source(format="csv", paths=["/etc/passwd"]),
    "text": source(format="text", paths=["file:///etc/passwd"]),
    "jdbc": source(format="jdbc", options={"url": "jdbc:sqlite:/x", "dbtable": "t"}, predicates=["1 = 1"]),
    "iceberg": source(format="iceberg", paths=["/data/table"]),
    "empty source": source(),
    "catalog": Relation(catalog=catalog_pb2.Catalog(list_tables=catalog_pb2.ListTables())),
    "drop view": Relation(
        catalog=catalog_pb2.Catalog(drop_global_temp_view=catalog_pb2.DropGlobalTempView(view_name="view_orders"))
    ),
    "external table": Relation(
        catalog=catalog_pb2.Catalog(
            create_external_table=catalog_pb2.CreateExternalTable(table_name="t", path="/etc/passwd", source="text")
        )
    ),
    "clear cache": Relation(catalog=catalog_pb2.Catalog(clear_cache=catalog_pb2.ClearCache())),
    "remote relation": Relation(cached_remote_relation=relations_pb2.CachedRemoteRelation(relation_id="x")),
    "cached rows": Relation(cached_local_relation=relations_pb2.CachedLocalRelation(hash="x")),
    "cached pieces": Relation(chunked_cached_local_relation=relations_pb2.ChunkedCachedLocalRelation(dataHashes="x")),
    "python source": Relation(
        common_inline_user_defined_data_source=relations_pb2.CommonInlineUserDefinedDataSource(name="x")
    ),
    "ml": Relation(ml_relation=relations_pb2.MlRelation(fetch=ml_pb2.Fetch() if hasattr(ml_pb2, "Fetch") else None)),
    "extension": Relation(extension={"type_url": "x", "value": b"y"}),
    "unknown": Relation(unknown=relations_pb2.Unknown()),
    "empty": Relation(),
    "unknown field": Relation.FromString(RANGE.SerializeToString() + b"\xfa\x3f\x01a"),
    "watermark": Relation(with_watermark=relations_pb2.WithWatermark(input=RANGE, event_time="a")),
    "parsed texts": Relation(parse=relations_pb2.Parse(input=RANGE, options={"path": "/etc/passwd"})),
    "table function": Relation(
        unresolved_table_valued_function=relations_pb2.UnresolvedTableValuedFunction(function_name="read_files")
    ),
    "logs of workers": Relation(
        unresolved_table_valued_function=relations_pb2.UnresolvedTableValuedFunction(function_name="python_worker_logs")
    ),
    "hint": Relation(hint=relations_pb2.Hint(input=RANGE, name="read_outside")),
    "qualifier of an alias": Relation(
        subquery_alias=relations_pb2.SubqueryAlias(input=RANGE, alias="a", qualifier=["global_temp"])
    ),
    "barrier": Relation(map_partitions=relations_pb2.MapPartitions(input=RANGE, func=UDF, is_barrier=True)),
    "profile": Relation(map_partitions=relations_pb2.MapPartitions(input=RANGE, func=UDF, profile_id=1)),
    "scala function": Relation(
        map_partitions=relations_pb2.MapPartitions(
            input=RANGE,
            func=expressions_pb2.CommonInlineUserDefinedFunction(
                scalar_scala_udf=expressions_pb2.ScalarScalaUDF(payload=b"\xac\xed")
            ),
        )
    ),
    "analyzed table function": Relation(
        common_inline_user_defined_table_function=relations_pb2.CommonInlineUserDefinedTableFunction(
            python_udtf=relations_pb2.PythonUDTF(eval_type=300, python_ver="3.11")
        )
    ),
    "state of groups": Relation(group_map=relations_pb2.GroupMap(input=RANGE, func=UDF, is_map_groups_with_state=True)),
    "partitions": Relation(range=relations_pb2.Range(end=1, step=1, num_partitions=2_000_000_000)),
    "more partitions": Relation(repartition=relations_pb2.Repartition(input=RANGE, num_partitions=1_000_000)),
    "partitions of one plan together": Relation(
        set_op=relations_pb2.SetOperation(
            left_input=Relation(range=relations_pb2.Range(end=1, step=1, num_partitions=60_000)),
            right_input=Relation(repartition=relations_pb2.Repartition(input=RANGE, num_partitions=60_000)),
        )
    ),
    "partitions by a hint": hint("repartition", number(2_147_483_647)),
    "partitions by a long number": hint("COALESCE", Expression(literal=Expression.Literal(long=1_000_000))),
    "partitions by a text that may be a number": hint("rebalance", expression_text("(2147483647)")),
    "partitions by a call": hint("repartition_by_range", call("+", number(1_000_000), number(1_000_000))),
    "partitions by an order": hint(
        "repartition_by_range", Expression(sort_order=Expression.SortOrder(child=number(2_147_483_647)))
    ),
    "partitions of a table function": range_function(number(0), number(1), number(1), number(2_147_483_647)),
    "partitions of a table function by a text": range_function(
        number(0), number(1), number(1), expression_text("1000000 * 1000")
    ),
    "partitions in SQL": Relation(sql=relations_pb2.SQL(query="SELECT * FROM range(0, 9, 1, 2147483647)")),
    "partitions by a hint in SQL": Relation(
        sql=relations_pb2.SQL(query="SELECT /*+ REPARTITION(2147483647) */ * FROM silver.orders")
    ),
    "rows to show": Relation(show_string=relations_pb2.ShowString(input=RANGE, num_rows=2_000_000_000)),
    "rows from the end": Relation(tail=relations_pb2.Tail(input=RANGE, limit=2_000_000_000)),
    "type of rows": Relation(local_relation=relations_pb2.LocalRelation(schema=schema_with({}, UDT))),
    "type of rows, deep": Relation(
        local_relation=relations_pb2.LocalRelation(schema=schema_with({}, {"type": "array", "elementType": UDT}))
    ),
    "type of rows, blanks": Relation(local_relation=relations_pb2.LocalRelation(schema=f"\n {json.dumps(UDT)}")),
    "default of rows": Relation(
        local_relation=relations_pb2.LocalRelation(schema="a int DEFAULT java_method('a', 'b')")
    ),
    "default of rows, dotless": Relation(local_relation=relations_pb2.LocalRelation(schema="a int ıdentity")),
    "default behind a raw text": Relation(
        local_relation=relations_pb2.LocalRelation(schema=r"a int COMMENT r'\' DEFAULT reflect('a', 'b') --'")
    ),
    "join type of the future": Relation(join=relations_pb2.Join(left=RANGE, right=RANGE, join_type=99)),
    "typed join": Relation(
        join=relations_pb2.Join(left=RANGE, right=RANGE, join_data_type=relations_pb2.Join.JoinDataType())
    ),
}

OTHER_NAMES = [
    *("java_method", "JAVA_METHOD", "Java_Method", "reflect", "try_reflect", "from_avro", "to_avro", "from_protobuf"),
    *("to_protobuf", "schema_of_avro", "python_worker_logs", "input_file_name", "INPUT_FILE_NAME"),
    *("input_file_block_start", "input_file_block_length", "builtin.java_method", "system.builtin.java_method"),
    *("`java_method`", "java_method ", " java_method", "java_method\0", "identifier", "unknown_function", ""),
    *("unwrap_udt", "vector_to_array", "array_to_vector", "spark_catalog.default.f", "reﬂect", "x" * 1_000_000),
]

EXPRESSIONS = {
    **{f"function {name[:40]!r}": call(name) for name in OTHER_NAMES},
    **{f"internal {name}": call(name, is_internal=True) for name in ("java_method", "vector_to_array", "abs")},
    "function of a catalog": call("abs", is_user_defined_function=True),
    "called by text": Expression(
        call_function=expressions_pb2.CallFunction(function_name="system.builtin.reflect", arguments=[text("a")])
    ),
    "called by quoted text": Expression(call_function=expressions_pb2.CallFunction(function_name="`reflect`")),
    "expression text": Expression(
        expression_string=Expression.ExpressionString(expression="java_method('java.lang.System', 'exit')")
    ),
    "metadata column": Expression(
        unresolved_attribute=Expression.UnresolvedAttribute(unparsed_identifier="_metadata", is_metadata_column=True)
    ),
    "scala function": Expression(
        common_inline_user_defined_function=expressions_pb2.CommonInlineUserDefinedFunction(
            scalar_scala_udf=expressions_pb2.ScalarScalaUDF(payload=b"\xac\xed")
        )
    ),
    "java function": Expression(
        common_inline_user_defined_function=expressions_pb2.CommonInlineUserDefinedFunction(
            java_udf=expressions_pb2.JavaUDF(class_name="java.lang.Runtime")
        )
    ),
    "function without code": Expression(
        common_inline_user_defined_function=expressions_pb2.CommonInlineUserDefinedFunction(function_name="f")
    ),
    "function with files": Expression(
        common_inline_user_defined_function=expressions_pb2.CommonInlineUserDefinedFunction(
            python_udf=expressions_pb2.PythonUDF(eval_type=200, python_ver="3.11", additional_includes=["/etc"])
        )
    ),
    "function with state": Expression(
        common_inline_user_defined_function=expressions_pb2.CommonInlineUserDefinedFunction(
            python_udf=expressions_pb2.PythonUDF(eval_type=211, python_ver="3.11")
        )
    ),
    "merge": Expression(merge_action=expressions_pb2.MergeAction()),
    "typed aggregate": Expression(typed_aggregate_expression=expressions_pb2.TypedAggregateExpression()),
    "extension": Expression(extension={"type_url": "x"}),
    "jvm origin": Expression(
        common={"origin": {"jvm_origin": {"sql_text": "x"}}}, literal=Expression.Literal(integer=1)
    ),
    "cast by text": Expression(cast=Expression.Cast(expr=text("a"), type_str="struct<a: int> DEFAULT 1")),
    "cast by JSON": Expression(cast=Expression.Cast(expr=text("a"), type_str='{"type":"udt"}')),
    "cast to a class": Expression(
        cast=Expression.Cast(expr=text("a"), type=DataType(udt=DataType.UDT(jvm_class="java.lang.Runtime")))
    ),
    "cast to a class in an array": Expression(
        cast=Expression.Cast(
            expr=text("a"), type=DataType(array=DataType.Array(element_type=DataType(udt=DataType.UDT())))
        )
    ),
    "unparsed type": Expression(
        cast=Expression.Cast(
            expr=text("a"), type=DataType(unparsed=DataType.Unparsed(data_type_string="a int GENERATED ALWAYS AS (1)"))
        )
    ),
    "null of a class": Expression(literal=Expression.Literal(null=DataType(udt=DataType.UDT()))),
    "schema of a class": call("from_json", text("{}"), text(schema_with({}, UDT))),
    "schema of a class in SQL's case": call("FROM_JSON", text("{}"), text(json.dumps(UDT))),
    "computed schema": call("from_json", text("{}"), call("concat", text('{"type":'), text('"udt"}'))),
    "schema by name": call(
        "from_json",
        Expression(named_argument_expression=expressions_pb2.NamedArgumentExpression(key="schema", value=text("{}"))),
        text("a int"),
    ),
    "schema by cast": call(
        "from_csv", text("1"), Expression(cast=Expression.Cast(expr=text("a int"), type_str="string"))
    ),
    "validation by a file": call(
        "from_xml", text("<a/>"), text("a int"), call("map", text("RowValidationXsdPath"), text("/etc/passwd"))
    ),
    "computed options": call("from_xml", text("<a/>"), text("a int"), call("map_from_arrays", text("a"), text("b"))),
    "schema of a file": call("schema_of_xml", text("<a/>"), call("map", text("rowvalidationxsdpath"), text("/x"))),
    "type of a variant": call("variant_get", text("{}"), text("$.a"), text(json.dumps(UDT))),
}


ALLOWED: dict[str, dict[str, Any]] = {
    "CallFunction": {"function_name": "abs"},
    "Expression.UnresolvedFunction": {"function_name": "abs"},
    "UnresolvedTableValuedFunction": {"function_name": "explode"},
    "CommonInlineUserDefinedFunction": {"python_udf": UDF.python_udf},
    "CommonInlineUserDefinedTableFunction": {
        "python_udtf": {"eval_type": 300, "python_ver": "3.11", "return_type": {"long": {}}}
    },
    "Hint": {"name": "broadcast"},
    "SQL": {"query": "SELECT 1"},
    "WithRelations": {"root": RANGE},
}
"""What a message needs to be allowed, beside what is put into it."""


def nested(evil: Any) -> Iterator[tuple[str, Any]]:
    """It in each place that an allowed message has for it."""
    for message in reachable():
        name = message.full_name.removeprefix(PREFIX)
        for field in message.fields:
            if field.message_type is None or field.name not in RULES[name].allowed:
                continue
            outer = message._concrete_class(**ALLOWED.get(name, {}))
            place, kind = getattr(outer, field.name), field.message_type
            if kind.GetOptions().map_entry and kind.fields_by_name["value"].message_type is evil.DESCRIPTOR:
                place["a"].CopyFrom(evil)
            elif kind is evil.DESCRIPTOR:
                (place.add() if field.is_repeated else place).CopyFrom(evil)
            else:
                continue
            yield f"{name}.{field.name}", outer


@pytest.mark.parametrize("name", RELATIONS)
def test_relation_is_refused(name: str) -> None:
    assert refusal_of(RELATIONS[name])
    assert refusal_of(Relation(limit=relations_pb2.Limit(input=RELATIONS[name], limit=1)))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expression_is_refused(name: str) -> None:
    assert refusal_of(project(EXPRESSIONS[name]))


@pytest.mark.parametrize(
    "evil", [RELATIONS["csv"], RELATIONS["table gold.orders"], EXPRESSIONS["function 'java_method'"]]
)
def test_it_is_refused_in_every_place_of_every_message(evil: Any) -> None:
    places = dict(nested(evil))
    assert len(places) > 40
    reason = refusal_of(evil)
    assert [place for place, message in places.items() if refusal_of(message) != reason] == []


@pytest.mark.parametrize("field", [field.name for field in Command.DESCRIPTOR.fields if field.name != "sql_command"])
def test_commands_are_refused(field: str) -> None:
    command = Command()
    getattr(command, field).SetInParent()
    assert refusal_of(base_pb2.ExecutePlanRequest(plan=base_pb2.Plan(command=command)))


@pytest.mark.parametrize(
    "request_",
    [
        base_pb2.ExecutePlanRequest(user_context={"extensions": [{"type_url": "x"}]}),
        base_pb2.ExecutePlanRequest(request_options=[{"extension": {"type_url": "x"}}]),
        base_pb2.ExecutePlanRequest(plan={"compressed_operation": {"data": b"x"}}),
        base_pb2.ConfigRequest(operation={"set": {"pairs": [{"key": "a", "value": "b"}]}}),
        base_pb2.ConfigRequest(operation={"unset": {"keys": ["a"]}}),
        base_pb2.AnalyzePlanRequest(input_files={"plan": {"root": RANGE}}),
        base_pb2.AnalyzePlanRequest(ddl_parse={"ddl_string": "a int DEFAULT 1"}),
        base_pb2.AnalyzePlanRequest(json_to_ddl={"json_string": json.dumps(UDT)}),
    ],
    ids=str,
)
def test_requests_are_refused(request_: Any) -> None:
    assert refusal_of(request_)


def test_python_functions_are_refused_by_the_setting() -> None:
    plan = project(Expression(common_inline_user_defined_function=UDF))
    assert not refusal_of(plan)
    assert 'udfs = "sandbox"' in refusal_of(plan, SandboxSection(udfs="refuse"))
    rows = Relation(map_partitions=relations_pb2.MapPartitions(input=RANGE, func=UDF))
    assert refusal_of(rows, SandboxSection(udfs="refuse"))
    table_function = relations_pb2.CommonInlineUserDefinedTableFunction(
        python_udtf=relations_pb2.PythonUDTF(
            return_type=DataType(long=DataType.Long()), eval_type=300, python_ver="3.11"
        )
    )
    plan = Relation(common_inline_user_defined_table_function=table_function)
    assert not refusal_of(plan)
    assert refusal_of(plan, SandboxSection(udfs="refuse"))


def test_metadata_that_spark_would_evaluate_is_taken_out() -> None:
    evaluated = {"EXISTS_DEFAULT": "reflect('a', 'b')", "CURRENT_DEFAULT": "1", "comment": "kept"}
    written = json.dumps(evaluated)
    alias = Expression(alias=Expression.Alias(expr=text("a"), name=["a"], metadata=written))
    plan = checked(project(alias)).project.expressions[0].alias
    assert json.loads(plan.metadata) == {"comment": "kept"}
    field = DataType.StructField(name="a", data_type=DataType(long=DataType.Long()), metadata=written)
    to_schema = Relation(
        to_schema=relations_pb2.ToSchema(input=RANGE, schema=DataType(struct=DataType.Struct(fields=[field])))
    )
    assert json.loads(checked(to_schema).to_schema.schema.struct.fields[0].metadata) == {"comment": "kept"}
    rows = Relation(local_relation=relations_pb2.LocalRelation(schema=schema_with(evaluated)))
    kept = json.loads(checked(rows).local_relation.schema)["fields"][0]["metadata"]
    assert kept == {"comment": "kept"}
    parsed = call("from_json", text("{}"), text(schema_with(evaluated)))
    argument = checked(project(parsed)).project.expressions[0].unresolved_function.arguments[1].literal.string
    assert json.loads(argument)["fields"][0]["metadata"] == {"comment": "kept"}


def test_a_handle_becomes_its_view_under_the_name_of_the_table() -> None:
    plan = table("ref shop.silver.orders")
    plan.common.plan_id = 7
    bound = checked(plan)
    assert bound.common.plan_id == 7
    assert bound.subquery_alias.alias == "orders"
    read = bound.subquery_alias.input.read.named_table
    assert (read.unparsed_identifier, dict(read.options)) == ("`global_temp`.`view_orders`", {})


def test_plans_may_ask_for_partitions_each() -> None:
    column = Expression(unresolved_attribute=Expression.UnresolvedAttribute(unparsed_identifier="id"))
    plans = [
        Relation(repartition=relations_pb2.Repartition(input=RANGE, num_partitions=90_000)),
        hint("repartition", number(60_000), column),
        hint("repartition_by_range", Expression(sort_order=Expression.SortOrder(child=column))),
        hint("broadcast"),
        range_function(number(0), number(1_000_000), number(1), number(60_000)),
        range_function(number(2_000_000)),
    ]
    check = plan_check()
    for plan in plans:
        check.check(plan)


def test_rows_that_a_model_makes_are_counted_once() -> None:
    check = plan_check(SandboxSection(local_rows=1000))

    def rows(sign: str) -> Relation:
        return Relation(local_relation=relations_pb2.LocalRelation(data=stream(pyarrow.table({"a": [sign * 40]}))))

    for _ in range(5):
        check.check(rows("a"))
    check.check(rows("b"))
    with pytest.raises(CallRefusedError, match="local_rows"):
        check.check(Relation(limit=relations_pb2.Limit(input=rows("c"), limit=1)))


def stream(table: pyarrow.Table, **options: Any) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema, options=pyarrow.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def test_rows_are_written_anew() -> None:
    table = pyarrow.table({"a": [1, None], "s": ["x", None], "l": [[1], None], "t": [{"p": 1.5}, None]})
    bound = checked(Relation(local_relation=relations_pb2.LocalRelation(data=stream(table))))
    assert pyarrow.ipc.open_stream(bound.local_relation.data).read_all().equals(table)


GOOD = stream(pyarrow.table({"s": ["aaaa", "bbbb"]}))
OFFSETS = struct.pack("<iii", 0, 4, 8)


@pytest.mark.parametrize(
    "data",
    [
        *(GOOD.replace(OFFSETS, struct.pack("<iii", 0, *end)) for end in ((4, 80_000), (-100, 8), (2_000_000_000, 8))),
        b"",
        b"no stream",
        GOOD[:-40] + b"\xff" * 40,
        stream(pyarrow.table({"s": ["a" * 1000]}), compression="zstd"),
        stream(pyarrow.table({"s": ["a" * 1000]}), compression="lz4"),
        stream(pyarrow.table({"s": pyarrow.array(["a"]).dictionary_encode()})),
        stream(pyarrow.table({"s": pyarrow.array(["a"], pyarrow.string_view())})),
        stream(pyarrow.table({"n": pyarrow.nulls(1 << 30)})),
    ],
)
def test_rows_that_lead_out_of_their_buffers_or_grow_are_refused(data: bytes) -> None:
    assert GOOD.count(OFFSETS) == 1
    assert refusal_of(Relation(local_relation=relations_pb2.LocalRelation(data=data)))
