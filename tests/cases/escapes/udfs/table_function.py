# seeks: file
# A table function in Python.
from pyspark.sql import functions as F


@F.udtf(returnType="got: string")
class Reads:
    def eval(self):
        yield (open("SECRET_FILE").read(),)


def model(tg):
    tg.ref("silver.orders")
    return Reads()
