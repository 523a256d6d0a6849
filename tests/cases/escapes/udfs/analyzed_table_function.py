# seeks: environment
# A table function whose columns are found by a method that runs while the query is analysed, in another worker.
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType
from pyspark.sql.udtf import AnalyzeResult


@F.udtf
class Reads:
    @staticmethod
    def analyze():
        import os

        return AnalyzeResult(StructType().add(os.environ["SECRET_VARIABLE"].replace("-", "_"), StringType()))

    def eval(self):
        yield ("x",)


def model(tg):
    tg.ref("silver.orders")
    return Reads()
