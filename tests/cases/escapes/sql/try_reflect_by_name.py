# seeks: environment
# call_function takes any name, with its catalog.
from pyspark.sql import functions as F


def model(tg):
    columns = [F.lit("java.lang.System"), F.lit("getenv"), F.lit("SECRET_VARIABLE")]
    return tg.ref("silver.orders").select(F.call_function("system.builtin.try_reflect", *columns).alias("got"))
