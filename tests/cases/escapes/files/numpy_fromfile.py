# seeks: file
# numpy reads bytes.
import numpy as np
import pyarrow as pa


def model(tg):
    return pa.table({"got": [np.fromfile("SECRET_FILE", dtype=np.uint8).tobytes().decode()]})
