# seeks: write
# A query that writes files.
# @depends_on: silver.orders
def model(tg):
    tg.sql("".join(["INSERT OVERWRITE DIRECTORY 'OUTSIDE_FILE' USING csv SELECT 1"]))
    return tg.ref("silver.orders")
