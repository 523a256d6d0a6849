# seeks: none
# A global view under a name that another model may be granted.
def model(tg):
    orders = tg.ref("silver.orders")
    orders.createOrReplaceGlobalTempView("orders")
    orders.createOrReplaceTempView("x")
    return orders.sparkSession.table("global_temp.orders")
