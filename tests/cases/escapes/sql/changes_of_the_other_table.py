# seeks: table
# Another function of tg, kept in a variable.
# @depends_on: silver.orders
def model(tg):
    read = getattr(tg, "chan" + "ges")
    return read("SECRET_TABLE")
