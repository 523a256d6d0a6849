# seeks: table
# The statistics of the other table's files have its smallest and largest values.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT CAST(lower_bounds AS STRING) AS got, readable_metrics FROM SECRET_TABLE.files"]))
