# seeks: file
# pandas reads a path.
import pandas as pd


def model(tg):
    return pd.read_csv("SECRET_FILE", header=None, names=["got"])
