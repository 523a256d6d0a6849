# seeks: environment
# The serializers of PySpark unpickle as well.
import pyarrow as pa
from pyspark.serializers import CPickleSerializer


def model(tg):
    return pa.table({"got": [CPickleSerializer().loads(b"cos\ngetenv\n(VSECRET_VARIABLE\ntR.")]})
