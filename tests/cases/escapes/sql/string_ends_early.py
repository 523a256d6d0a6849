# seeks: table
# Quotes that are escaped by a backslash for one reader and end the text for another.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT 'a\\' || (SELECT max(secret) FROM SECRET_TABLE) || 'b' AS got, '\\' AS x FROM silver.orders --'"]))
