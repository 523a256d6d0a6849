# seeks: network
# What it opens addresses with.
import pandas as pd


def model(tg):
    return pd.DataFrame({"got": [pd.io.common.urlopen("http://127.0.0.1:SECRET_PORT/x", timeout=3).read()]})
