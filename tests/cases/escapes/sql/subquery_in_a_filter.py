# seeks: table
# A condition holds a query.
def model(tg):
    return tg.ref("silver.orders").selectExpr("(SELECT max(secret) FROM SECRET_TABLE) AS got")
