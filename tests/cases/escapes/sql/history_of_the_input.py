# seeks: file
# Metadata tables of what is granted show the paths of files; the paths lead to the rest.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT file, (SELECT max(value) FROM text.`SECRET_FILE`) FROM silver.orders.history, silver.orders.files"]))
