# seeks: table
# The value that a cast fails on is part of its message.
def model(tg):
    return tg.ref("silver.orders").selectExpr("CAST((SELECT max(secret) FROM SECRET_TABLE) AS INT) AS x").collect()
