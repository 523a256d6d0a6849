# seeks: none
# A plan that grows by each step.
# check: accepts
def model(tg):
    orders = tg.ref("silver.orders")
    for _ in range(18):
        orders = orders.union(orders)
    return orders
