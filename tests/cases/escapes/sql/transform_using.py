# seeks: file
# A query that runs a program.
# check: accepts
def model(tg):
    return tg.sql("SELECT TRANSFORM(id) USING 'cat SECRET_FILE' AS (got STRING) FROM silver.orders")
