# seeks: table
# In a raw text a backslash escapes nothing.
def model(tg):
    return tg.sql(r"SELECT r'\' || (SELECT max(secret) FROM SECRET_TABLE) || r'\' AS got FROM silver.orders")
