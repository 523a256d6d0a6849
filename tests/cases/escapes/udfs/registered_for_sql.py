# seeks: file
# Registered by name, called in a text.
# @depends_on: silver.orders
def model(tg):
    session = tg.ref("silver.orders").sparkSession
    session.udf.register("reads", lambda value: open("SECRET_FILE").read())
    return tg.sql("".join(["SELECT reads(id) AS got FROM silver.orders"]))
