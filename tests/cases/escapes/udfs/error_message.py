# seeks: file
# The message of the function's own error comes back by way of the JVM.
from pyspark.sql import functions as F


@F.udf("string")
def fails(value):
    raise ValueError(open("SECRET_FILE").read())


def model(tg):
    return tg.ref("silver.orders").select(fails("id").alias("got"))
