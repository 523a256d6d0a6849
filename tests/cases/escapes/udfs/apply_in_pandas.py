# seeks: table
# Groups; the worker reads the data files of the other table.
import pandas as pd


def reads(frame):
    import glob

    return pd.concat([pd.read_parquet(path) for path in glob.glob("SECRET_TABLE_FILES/data/**/*.parquet", recursive=True)])


def model(tg):
    return tg.ref("silver.orders").groupBy("id").applyInPandas(reads, "secret string")
