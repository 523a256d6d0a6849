# seeks: file
# The session that is active in this process, whoever began it.
from pyspark.sql import SparkSession


def model(tg):
    return SparkSession.getActiveSession().read.text("SECRET_FILE")
