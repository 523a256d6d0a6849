# seeks: table
# The data files of the other table, below the lake's folder.
def model(tg):
    return tg.sql("SELECT * FROM parquet.`SECRET_TABLE_FILES/data`")
