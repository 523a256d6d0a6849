# seeks: environment
# The readers of pandas import os, and the packages in between are plain attributes.
import pandas as pd


def model(tg):
    return pd.DataFrame({"got": [pd.io.common.os.environ["SECRET_VARIABLE"]]})
