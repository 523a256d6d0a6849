# seeks: network
# The JVM connects to where the address says.
def model(tg):
    reader = tg.ref("silver.orders").sparkSession.read.format("jdbc")
    return reader.option("url", "jdbc:postgresql://127.0.0.1:SECRET_PORT/x").option("dbtable", "t").load()
