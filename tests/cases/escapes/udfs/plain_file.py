# seeks: file
# A plain function opens the file on the worker.
from pyspark.sql import functions as F


@F.udf("string")
def reads(value):
    return open("SECRET_FILE").read()


def model(tg):
    return tg.ref("silver.orders").select(reads("id").alias("got"))
