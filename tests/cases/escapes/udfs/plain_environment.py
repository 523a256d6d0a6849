# seeks: environment
# The environment of the worker.
from pyspark.sql import functions as F


@F.udf("string")
def reads(value):
    import os

    return os.environ["SECRET_VARIABLE"]


def model(tg):
    return tg.ref("silver.orders").select(reads("id").alias("got"))
