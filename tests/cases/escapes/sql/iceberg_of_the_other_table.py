# seeks: table
# Iceberg loads a table by its folder.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT * FROM iceberg.`SECRET_TABLE_FILES`"]))
