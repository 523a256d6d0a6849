# seeks: table
# A recursive query whose first part is the other table.
def model(tg):
    return tg.sql("WITH RECURSIVE r(x) AS (SELECT secret FROM SECRET_TABLE UNION ALL SELECT x FROM r WHERE false) SELECT * FROM r")
