# seeks: table
# The data files of the other table, below the lake's folder.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT * FROM parquet.`SECRET_TABLE_FILES/data`"]))
