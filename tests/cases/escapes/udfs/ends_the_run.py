# seeks: parent
# An error that reads like one of the lake, which ends a whole run: the other models would not be built.
# check: accepts
from pyspark.sql import functions as F


@F.udf("string")
def fails(value):
    raise PermissionError("the password of the lake is wrong: 401 Unauthorized")


def model(tg):
    return tg.ref("silver.orders").select(fails("id").alias("got"))
