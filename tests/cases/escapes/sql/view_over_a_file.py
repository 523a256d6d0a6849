# seeks: file
# A temporary view with a data source of its own.
def model(tg):
    tg.sql("CREATE TEMPORARY VIEW v USING text OPTIONS (path 'SECRET_FILE')")
    return tg.sql("SELECT * FROM v")
