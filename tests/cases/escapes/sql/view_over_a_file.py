# seeks: file
# A temporary view with a data source of its own.
# @depends_on: silver.orders
def model(tg):
    tg.sql("".join(["CREATE TEMPORARY VIEW v USING text OPTIONS (path 'SECRET_FILE')"]))
    return tg.sql("".join(["SELECT * FROM v"]))
