# seeks: file
# The reader of CSV.
from pyarrow import csv


def model(tg):
    return csv.read_csv("SECRET_FILE", read_options=csv.ReadOptions(column_names=["got"]))
