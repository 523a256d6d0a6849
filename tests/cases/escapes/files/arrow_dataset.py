# seeks: table
# A dataset over a folder of the lake.
import pyarrow.dataset


def model(tg):
    return pyarrow.dataset.dataset("SECRET_TABLE_FILES/data", format="parquet").to_table()
