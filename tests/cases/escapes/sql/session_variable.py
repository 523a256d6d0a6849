# seeks: table
# A variable of the session keeps a value from one query for another.
def model(tg):
    tg.sql("DECLARE OR REPLACE VARIABLE got STRING DEFAULT (SELECT max(secret) FROM SECRET_TABLE)")
    return tg.sql("SELECT system.session.got AS got")
