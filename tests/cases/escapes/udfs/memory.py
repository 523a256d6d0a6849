# seeks: none
# The worker takes memory.
# check: accepts
from pyspark.sql import functions as F


@F.udf("long")
def takes(value):
    held = [bytearray(1 << 26) for _ in range(60)]
    return len(held)


def model(tg):
    return tg.ref("silver.orders").select(takes("id").alias("got"))
