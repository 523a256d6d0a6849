# seeks: environment
# A name from a module below an allowed package.
from pandas.io.common import os

import pyarrow as pa


def model(tg):
    return pa.table({"got": [os.environ["SECRET_VARIABLE"]]})
