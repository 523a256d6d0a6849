# seeks: file
# The setting that forbids paths as tables is switched on again.
def model(tg):
    tg.sql("SET spark.sql.runSQLOnFiles = true")
    return tg.sql("SELECT * FROM csv.`SECRET_FILE`")
