# seeks: write
# A function for each row runs on the workers.
def writes(row):
    with open("OUTSIDE_FILE", "w") as file:
        file.write("x")


def model(tg):
    orders = tg.ref("silver.orders")
    orders.foreach(writes)
    return orders
