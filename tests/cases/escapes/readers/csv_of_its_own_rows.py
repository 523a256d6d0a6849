# seeks: none
# A reader that reads no file: rows that the model has made itself.
def model(tg):
    orders = tg.ref("silver.orders")
    return orders.sparkSession.read.csv(orders.selectExpr("CAST(id AS STRING) AS value"))
