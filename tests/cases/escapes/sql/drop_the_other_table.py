# seeks: table
# A statement that changes the lake.
def model(tg):
    tg.sql("DROP TABLE SECRET_TABLE")
    return tg.ref("silver.orders")
