# seeks: none
# More tasks than Spark's driver can hold.
# check: accepts
def model(tg):
    return tg.ref("silver.orders").repartition(2147483647)
