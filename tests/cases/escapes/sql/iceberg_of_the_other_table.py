# seeks: table
# Iceberg loads a table by its folder.
def model(tg):
    return tg.sql("SELECT * FROM iceberg.`SECRET_TABLE_FILES`")
