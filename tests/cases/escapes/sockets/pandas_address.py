# seeks: network
# pandas reads addresses.
import pandas as pd


def model(tg):
    return pd.read_csv("http://127.0.0.1:SECRET_PORT/x", header=None)
