# seeks: table
# A query in front, a change behind it.
def model(tg):
    tg.sql("WITH x AS (SELECT 'changed' AS secret) INSERT INTO SECRET_TABLE SELECT * FROM x").collect()
    return tg.ref("silver.orders")
