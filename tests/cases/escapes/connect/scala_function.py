# seeks: parent
# Java's serialized objects are read by the JVM.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    plan.root.project.input.range.end = 1
    plan.root.project.input.range.step = 1
    function = plan.root.project.expressions.add().common_inline_user_defined_function
    function.function_name = "f"
    function.scalar_scala_udf.payload = b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16`\xd1"
    return client.to_table(plan, {})[0]
