# seeks: table
# By a merge.
from pyspark.sql import functions as F


def model(tg):
    orders = tg.ref("silver.orders")
    orders.mergeInto("main.shop.SECRET_TABLE", F.lit(True)).whenMatched().delete().merge()
    return orders
