# seeks: environment
# A star imports what the module has imported.
from pandas.io.common import *  # noqa: F403
from pandas.io.common import os as given

import pandas as pd


def model(tg):
    return pd.DataFrame({"got": [given.environ["SECRET_VARIABLE"]]})
