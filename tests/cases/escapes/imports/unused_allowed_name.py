# seeks: environment
# An allowed name for a module that is not.
import sys as json

import pyarrow as pa


def model(tg):
    return pa.table({"got": [json.modules["os"].environ["SECRET_VARIABLE"]]})
