# seeks: table
# A statement that only describes another.
def model(tg):
    return tg.sql("EXPLAIN EXTENDED SELECT max(secret) FROM SECRET_TABLE")
