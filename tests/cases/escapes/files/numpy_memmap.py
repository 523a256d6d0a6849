# seeks: file
# numpy maps a file into memory.
import numpy as np
import pyarrow as pa


def model(tg):
    return pa.table({"got": [np.memmap("SECRET_FILE", dtype=np.uint8, mode="r").tobytes().decode()]})
