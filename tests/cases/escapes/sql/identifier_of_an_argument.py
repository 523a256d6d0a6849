# seeks: table
# The name is an argument of the query.
def model(tg):
    return tg.ref("silver.orders").sparkSession.sql("SELECT * FROM IDENTIFIER(:t)", args={"t": "SECRET_TABLE"})
