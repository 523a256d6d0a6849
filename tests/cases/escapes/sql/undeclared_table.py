# seeks: table
# A table that the model has not declared.
def model(tg):
    return tg.sql("SELECT * FROM SECRET_TABLE")
