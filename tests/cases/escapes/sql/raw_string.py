# seeks: table
# In a raw text a backslash escapes nothing.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join([r"SELECT r'\' || (SELECT max(secret) FROM SECRET_TABLE) || r'\' AS got FROM silver.orders"]))
