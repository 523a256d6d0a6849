# seeks: file
# The setting that forbids paths as tables is switched on again.
# @depends_on: silver.orders
def model(tg):
    tg.sql("".join(["SET spark.sql.runSQLOnFiles = true"]))
    return tg.sql("".join(["SELECT * FROM csv.`SECRET_FILE`"]))
