# seeks: file
# A name that is a path, and one that ends its quotes.
def model(tg):
    try:
        return tg.ref("text.`SECRET_FILE`")
    except Exception:
        return tg.ref("silver.orders` UNION ALL SELECT * FROM text.`SECRET_FILE")
