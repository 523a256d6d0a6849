# seeks: table
# More than one statement.
# check: accepts
def model(tg):
    return tg.sql("SELECT 1; SELECT * FROM SECRET_TABLE")
