# seeks: environment
# PySpark's own modules import os.
import pyarrow as pa
from pyspark.core import files


def model(tg):
    return pa.table({"got": [files.os.environ["SECRET_VARIABLE"]]})
