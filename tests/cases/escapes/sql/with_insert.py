# seeks: table
# A query in front, a change behind it.
# @depends_on: silver.orders
def model(tg):
    tg.sql("".join(["WITH x AS (SELECT 'changed' AS secret) INSERT INTO SECRET_TABLE SELECT * FROM x"])).collect()
    return tg.ref("silver.orders")
