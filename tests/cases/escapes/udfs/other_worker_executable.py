# seeks: environment
# The function says itself with which interpreter it is run, and by a setting.
from pyspark.sql import functions as F


def model(tg):
    orders = tg.ref("silver.orders")
    session = orders.sparkSession
    session.conf.set("spark.pyspark.python", "/usr/bin/env")
    session.conf.set("spark.sql.execution.pyspark.python", "/usr/bin/env")
    reads = F.udf(lambda value: __import__("os").environ["SECRET_VARIABLE"], "string")
    return orders.select(reads("id").alias("got"))
