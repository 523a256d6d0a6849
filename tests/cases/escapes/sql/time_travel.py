# seeks: table
# The other table at a version, with the syntax of versions.
def model(tg):
    return tg.sql("SELECT * FROM SECRET_TABLE VERSION AS OF 'main'")
