# seeks: file
# A session is begun: a JVM of its own, in which all is allowed.
from pyspark.sql import SparkSession


def model(tg):
    session = SparkSession.builder.config("spark.remote", "").master("local[1]").getOrCreate()
    return session.read.text("SECRET_FILE").toPandas()
