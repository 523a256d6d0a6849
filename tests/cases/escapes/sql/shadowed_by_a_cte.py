# seeks: table
# The granted name as the name of another query, which reads what its name was before.
def model(tg):
    return tg.sql("WITH orders AS (SELECT * FROM SECRET_TABLE) SELECT * FROM orders")
