# seeks: environment
# The context of a classic session holds the JVM.
from pyspark import SparkContext


def model(tg):
    raise ValueError(SparkContext._active_spark_context._jvm.java.lang.System.getenv("SECRET_VARIABLE"))
