# seeks: environment
# A function that aggregates.
import pandas as pd
from pyspark.sql import functions as F


@F.pandas_udf("string")
def reads(values: pd.Series) -> str:
    return pd.io.common.os.environ["SECRET_VARIABLE"]


def model(tg):
    return tg.ref("silver.orders").groupBy().agg(reads("id").alias("got"))
