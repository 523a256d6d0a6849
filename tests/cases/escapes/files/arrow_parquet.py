# seeks: table
# The reader of Parquet.
import pyarrow.parquet


def model(tg):
    return pyarrow.parquet.read_table("SECRET_TABLE_FILES/data")
