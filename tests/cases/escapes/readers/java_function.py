# seeks: environment
# A function by the name of a Java class.
def model(tg):
    session = tg.ref("silver.orders").sparkSession
    session.udf.registerJavaFunction("f", "org.apache.hadoop.hive.ql.udf.generic.GenericUDFReflect")
    return session.sql("SELECT f('java.lang.System', 'getenv', 'SECRET_VARIABLE') AS got")
