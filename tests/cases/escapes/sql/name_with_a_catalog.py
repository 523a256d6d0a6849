# seeks: table
# The full name, with the catalog of main.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT * FROM main.shop.SECRET_TABLE"]))
