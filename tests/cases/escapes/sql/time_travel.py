# seeks: table
# The other table at a version, with the syntax of versions.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT * FROM SECRET_TABLE VERSION AS OF 'main'"]))
