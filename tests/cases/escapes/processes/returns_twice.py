# seeks: table
# Two processes speak over the same socket: both return.
import os

import pyarrow as pa


def model(tg):
    child = os.fork()
    return pa.table({"got": [f"{child == 0}"]})
