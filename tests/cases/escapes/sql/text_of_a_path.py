# seeks: file
# Spark reads a path as a table.
def model(tg):
    return tg.sql("SELECT * FROM text.`SECRET_FILE`")
