# seeks: environment
# Settings of executors hold variables, and settings refer to them.
def model(tg):
    session = tg.ref("silver.orders").sparkSession
    session.conf.set("spark.sql.x", "${env:SECRET_VARIABLE}")
    raise ValueError(session.conf.get("spark.sql.x"))
