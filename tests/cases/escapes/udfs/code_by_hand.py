# seeks: file
# The function that is sent was put together: its code has other names than its source.
from pyspark.sql import functions as F


def model(tg):
    def reads(value):
        return nothing("SECRET_FILE").read()

    reads.__code__ = reads.__code__.replace(co_names=("open", "read"))
    return tg.ref("silver.orders").select(F.udf(reads, "string")("id").alias("got"))
