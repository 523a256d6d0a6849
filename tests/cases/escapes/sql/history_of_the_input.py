# seeks: file
# Metadata tables of what is granted show the paths of files; the paths lead to the rest.
def model(tg):
    return tg.sql("SELECT file, (SELECT max(value) FROM text.`SECRET_FILE`) FROM silver.orders.history, silver.orders.files")
