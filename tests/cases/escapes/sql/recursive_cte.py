# seeks: table
# A recursive query whose first part is the other table.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["WITH RECURSIVE r(x) AS (SELECT secret FROM SECRET_TABLE UNION ALL SELECT x FROM r WHERE false) SELECT * FROM r"]))
