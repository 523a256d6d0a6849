# seeks: table
# A query within a lateral view, a pivot and an ordering.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT x FROM silver.orders, LATERAL (SELECT array(secret) AS a FROM SECRET_TABLE) LATERAL VIEW explode(a) v AS x"]))
