# seeks: table
# The full name, with the catalog of main.
def model(tg):
    return tg.sql("SELECT * FROM main.shop.SECRET_TABLE")
