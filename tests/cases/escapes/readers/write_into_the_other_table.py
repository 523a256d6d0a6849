# seeks: table
# Into a table of the lake.
def model(tg):
    orders = tg.ref("silver.orders")
    orders.selectExpr("'changed' AS secret").writeTo("main.shop.SECRET_TABLE").append()
    return orders
