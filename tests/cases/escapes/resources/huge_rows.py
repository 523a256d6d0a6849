# seeks: none
# Rows that it makes itself, more than it may.
# check: accepts
import numpy as np
import pandas as pd


def model(tg):
    return pd.DataFrame({"got": np.zeros(1 << 26)})
