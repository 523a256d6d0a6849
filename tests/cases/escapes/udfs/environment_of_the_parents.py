# seeks: environment
# The processes above a worker: its daemon and the JVM.
from pyspark.sql import functions as F


@F.udf("string")
def reads(value):
    import os

    got = []
    for process in ("self", os.getppid(), "VICTIM_PID"):
        try:
            for line in open(f"/proc/{process}/environ").read().split("\0"):
                if line.startswith("SECRET_VARIABLE="):
                    got.append(line)
        except OSError as error:
            got.append(str(error.errno))
    return ",".join(got)


def model(tg):
    return tg.ref("silver.orders").select(reads("id").alias("got"))
