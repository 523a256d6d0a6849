# seeks: none
# More tasks than Spark's driver can hold, asked for by a hint in SQL.
# check: accepts
# @depends_on: silver.orders
def model(tg):
    return tg.sql("SELECT /*+ REPARTITION(2147483647) */ id FROM silver.orders")
