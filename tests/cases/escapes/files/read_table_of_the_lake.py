# seeks: table
# The data files of the other table.
import pandas as pd


def model(tg):
    return pd.read_parquet("SECRET_TABLE_FILES/data")
