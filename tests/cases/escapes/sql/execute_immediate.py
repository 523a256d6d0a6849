# seeks: table
# A statement in a text.
def model(tg):
    return tg.sql("EXECUTE IMMEDIATE 'SELECT * FROM ' || 'SECRET_TABLE'")
