# seeks: none
# Rows out of Spark, more than it may take.
# check: accepts
import pyarrow as pa


def model(tg):
    frame = tg.ref("silver.orders")
    rows = frame.selectExpr("explode(sequence(1, 40000000)) AS x", "repeat('x', 100) AS y").toPandas()
    return pa.table({"got": [len(rows)]})
