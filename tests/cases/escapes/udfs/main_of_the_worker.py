# seeks: environment
# The worker's own module and its globals: what it was told by the JVM.
from pyspark.sql import functions as F


@F.udf("string")
def reads(value):
    import sys

    return str([sys.modules[name].os.environ["SECRET_VARIABLE"] for name in sys.modules if name == "pyspark.worker"])


def model(tg):
    return tg.ref("silver.orders").select(reads("id").alias("got"))
