# seeks: environment
# A function by the name of a class.
def model(tg):
    tg.sql("CREATE TEMPORARY FUNCTION f AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFReflect'")
    return tg.sql("SELECT f('java.lang.System', 'getenv', 'SECRET_VARIABLE') AS got")
