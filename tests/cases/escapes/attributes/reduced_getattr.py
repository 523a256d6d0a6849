# seeks: environment
# getattr handed to another function is not called by its name.
from functools import reduce

import pandas as pd


def model(tg):
    return pd.DataFrame({"got": [reduce(getattr, ["io", "common", "os", "environ"], pd)["SECRET_VARIABLE"]]})
