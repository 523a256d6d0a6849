# seeks: write
# A DataFrame writes itself.
def model(tg):
    orders = tg.ref("silver.orders")
    orders.write.mode("overwrite").csv("OUTSIDE_FILE")
    return orders
