# seeks: file
# numpy reads lines of text.
import numpy as np
import pyarrow as pa


def model(tg):
    return pa.table({"got": [str(np.genfromtxt("SECRET_FILE", dtype=str))]})
