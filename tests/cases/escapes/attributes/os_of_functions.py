# seeks: environment
# Spark's functions are a module too, with modules of its own.
import pyarrow as pa
from pyspark.sql import functions as F


def model(tg):
    return pa.table({"got": [F.sys.modules["os"].environ["SECRET_VARIABLE"]]})
