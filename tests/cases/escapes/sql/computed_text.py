# seeks: table
# The name is put together where nobody reads it.
def model(tg):
    return tg.sql("SELECT * FROM " + "SECRET_TABLE"[:3] + "SECRET_TABLE"[3:])
