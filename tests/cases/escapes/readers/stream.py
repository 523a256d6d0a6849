# seeks: write
# A stream that is started outlives the model.
def model(tg):
    session = tg.ref("silver.orders").sparkSession
    rate = session.readStream.format("rate").load()
    rate.writeStream.format("csv").option("checkpointLocation", "OUTSIDE_FILE.c").start("OUTSIDE_FILE")
    return tg.ref("silver.orders")
