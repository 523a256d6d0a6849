# seeks: network
# A vectorised function connects.
import pandas as pd
from pyspark.sql import functions as F


@F.pandas_udf("string")
def reads(values: pd.Series) -> pd.Series:
    import socket

    with socket.create_connection(("127.0.0.1", SECRET_PORT), 3) as link:
        text = link.recv(100).decode()
    return pd.Series([text] * len(values))


def model(tg):
    return tg.ref("silver.orders").select(reads("id").alias("got"))
