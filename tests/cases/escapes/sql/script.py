# seeks: table
# A script with a variable.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["BEGIN DECLARE got STRING; SET got = (SELECT max(secret) FROM SECRET_TABLE); SELECT got; END"]))
