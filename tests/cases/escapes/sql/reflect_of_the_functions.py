# seeks: environment
# Spark's functions in Python have it under its name.
from pyspark.sql import functions as F


def model(tg):
    columns = [F.lit("java.lang.System"), F.lit("getenv"), F.lit("SECRET_VARIABLE")]
    return tg.ref("silver.orders").select(F.java_method(*columns).alias("got"))
