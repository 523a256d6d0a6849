# seeks: file
# An address of a file.
import pandas as pd


def model(tg):
    return pd.read_table("file://SECRET_FILE", header=None, names=["got"])
