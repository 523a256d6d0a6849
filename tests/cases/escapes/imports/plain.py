# seeks: environment
# Nothing hidden.
import os

import pyarrow as pa


def model(tg):
    return pa.table({"got": [os.environ["SECRET_VARIABLE"]]})
