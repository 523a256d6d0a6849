# seeks: parent
# The worker ends a process that is not its own.
from pyspark.sql import functions as F


@F.udf("string")
def kills(value):
    import os

    os.kill(VICTIM_PID, 9)
    return "killed"


def model(tg):
    return tg.ref("silver.orders").select(kills("id").alias("got"))
