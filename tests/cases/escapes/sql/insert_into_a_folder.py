# seeks: write
# A query that writes files.
def model(tg):
    tg.sql("INSERT OVERWRITE DIRECTORY 'OUTSIDE_FILE' USING csv SELECT 1")
    return tg.ref("silver.orders")
