# seeks: table
# A statement that only describes another.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["EXPLAIN EXTENDED SELECT max(secret) FROM SECRET_TABLE"]))
