# seeks: table
# A DataFrame replaces a name in the text, which makes it a relation of its own in the plan.
def model(tg):
    orders = tg.ref("silver.orders")
    return orders.sparkSession.sql("SELECT * FROM {a}, SECRET_TABLE", a=orders)
