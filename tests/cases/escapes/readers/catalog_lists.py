# seeks: table
# The catalog of the session lists what is there, and caches it.
def model(tg):
    catalog = tg.ref("silver.orders").sparkSession.catalog
    tg.log(str(catalog.listDatabases()) + str(catalog.listTables("global_temp")))
    catalog.createTable("x", path="SECRET_FILE", source="text")
    return tg.ref("silver.orders").sparkSession.table("x")
