# seeks: table
# A statement that changes the lake.
# @depends_on: silver.orders
def model(tg):
    tg.sql("".join(["DROP TABLE SECRET_TABLE"]))
    return tg.ref("silver.orders")
