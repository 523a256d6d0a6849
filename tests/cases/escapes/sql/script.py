# seeks: table
# A script with a variable.
def model(tg):
    return tg.sql("BEGIN DECLARE got STRING; SET got = (SELECT max(secret) FROM SECRET_TABLE); SELECT got; END")
