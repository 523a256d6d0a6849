# seeks: parent
# A process that outlives the worker; the harness looks for its name.
from pyspark.sql import functions as F


@F.udf("string")
def stays(value):
    import os
    import time

    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            import ctypes

            ctypes.CDLL(None).prctl(15, b"LEFT_BEHIND", 0, 0, 0)
            time.sleep(120)
        os._exit(0)
    return "left"


def model(tg):
    return tg.ref("silver.orders").select(stays("id").alias("got"))
