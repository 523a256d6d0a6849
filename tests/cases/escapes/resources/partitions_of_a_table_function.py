# seeks: none
# More tasks than Spark's driver can hold, asked for in SQL.
# check: accepts
# @depends_on: silver.orders
def model(tg):
    return tg.sql("SELECT id FROM range(0, 10, 1, 1000 * 1000 * 1000)")
