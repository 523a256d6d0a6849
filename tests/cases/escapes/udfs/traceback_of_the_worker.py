# seeks: file
# A setting shows local values and source lines in the message of a worker's error.
from pyspark.sql import functions as F


def model(tg):
    def fails(value):
        raise ValueError(value)

    fails.__code__ = fails.__code__.replace(co_filename="SECRET_FILE", co_firstlineno=0)
    return tg.ref("silver.orders").select(F.udf(fails, "string")("id").alias("got"))
