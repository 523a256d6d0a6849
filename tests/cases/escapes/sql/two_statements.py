# seeks: table
# More than one statement.
def model(tg):
    return tg.sql("SELECT 1; SELECT * FROM SECRET_TABLE")
