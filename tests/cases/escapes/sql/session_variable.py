# seeks: table
# A variable of the session keeps a value from one query for another.
# @depends_on: silver.orders
def model(tg):
    tg.sql("".join(["DECLARE OR REPLACE VARIABLE got STRING DEFAULT (SELECT max(secret) FROM SECRET_TABLE)"]))
    return tg.sql("".join(["SELECT system.session.got AS got"]))
