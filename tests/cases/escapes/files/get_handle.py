# seeks: file
# What the readers of pandas open files with.
import pandas as pd


def model(tg):
    return pd.DataFrame({"got": [pd.io.common.get_handle("SECRET_FILE", "r").handle.read()]})
