# seeks: environment
# What is written to the error stream goes where the parent's goes.
import sys

import pandas as pd


def model(tg):
    sys.__stderr__.write(pd.io.common.os.environ["SECRET_VARIABLE"])
    return pd.DataFrame({"got": ["x"]})
