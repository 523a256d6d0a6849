# seeks: table
# A table that the model has not declared.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT * FROM SECRET_TABLE"]))
