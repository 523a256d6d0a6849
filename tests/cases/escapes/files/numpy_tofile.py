# seeks: write
# An array writes itself.
import numpy as np
import pyarrow as pa


def model(tg):
    np.array([1]).tofile("OUTSIDE_FILE")
    return pa.table({"got": ["written"]})
