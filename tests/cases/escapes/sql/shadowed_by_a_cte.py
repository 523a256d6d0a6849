# seeks: table
# The granted name as the name of another query, which reads what its name was before.
# sample: yes
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["WITH orders AS (SELECT * FROM SECRET_TABLE) SELECT * FROM orders"]))
