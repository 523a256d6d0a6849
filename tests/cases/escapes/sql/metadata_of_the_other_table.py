# seeks: table
# The statistics of the other table's files have its smallest and largest values.
def model(tg):
    return tg.sql("SELECT CAST(lower_bounds AS STRING) AS got, readable_metrics FROM SECRET_TABLE.files")
