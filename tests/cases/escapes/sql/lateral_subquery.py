# seeks: table
# A query within a lateral view, a pivot and an ordering.
def model(tg):
    return tg.sql("SELECT x FROM silver.orders, LATERAL (SELECT array(secret) AS a FROM SECRET_TABLE) LATERAL VIEW explode(a) v AS x")
