# seeks: table
# A statement in a text.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["EXECUTE IMMEDIATE 'SELECT * FROM ' || 'SECRET_TABLE'"]))
