# seeks: file
# A function of Arrow arrays.
import pyarrow as pa
from pyspark.sql import functions as F


@F.arrow_udf("string")
def reads(values: pa.Array) -> pa.Array:
    text = pa.OSFile("SECRET_FILE").read().decode()
    return pa.array([text] * len(values))


def model(tg):
    return tg.ref("silver.orders").select(reads("id").alias("got"))
