# seeks: file
# A file is handed to all workers, and listed.
# @depends_on: silver.orders
def model(tg):
    tg.sql("".join(["ADD FILE 'SECRET_FILE'"]))
    return tg.sql("".join(["LIST FILES"]))
