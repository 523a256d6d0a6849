# seeks: write
# The worker writes.
from pyspark.sql import functions as F


@F.udf("string")
def writes(value):
    with open("OUTSIDE_FILE", "w") as file:
        file.write("x")
    return "written"


def model(tg):
    return tg.ref("silver.orders").select(writes("id").alias("got"))
