# seeks: none
# A few rows, crossed with themselves until the machine is full.
# check: accepts
# @timeout: 15
def model(tg):
    orders = tg.ref("silver.orders").select("id")
    for _ in range(24):
        orders = orders.crossJoin(tg.ref("silver.orders").select("id").limit(3))
    return orders.toDF(*[f"c{number}" for number in range(25)])
