# seeks: environment
# The dictionary of a module, by the attribute.
import random

import pyarrow as pa


def model(tg):
    return pa.table({"got": [random.__dict__["_os"].environ["SECRET_VARIABLE"]]})
