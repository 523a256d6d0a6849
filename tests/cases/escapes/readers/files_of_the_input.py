# seeks: file
# The input says where its files are.
def model(tg):
    orders = tg.ref("silver.orders")
    tg.log(str(orders.inputFiles()))
    return orders.sparkSession.read.text([*orders.inputFiles(), "SECRET_FILE"])
