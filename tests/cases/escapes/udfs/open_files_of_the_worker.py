# seeks: file
# What the worker has inherited.
from pyspark.sql import functions as F


@F.udf("string")
def reads(value):
    import os

    got = []
    for number in range(64):
        try:
            got.append(os.readlink(f"/proc/self/fd/{number}"))
            if got[-1] == "SECRET_FILE":
                got.append(os.pread(number, 1000, 0).decode())
        except OSError:
            pass
    return " ".join(got)


def model(tg):
    return tg.ref("silver.orders").select(reads("id").alias("got"))
