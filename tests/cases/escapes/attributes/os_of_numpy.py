# seeks: file
# The file readers of numpy import os.
import numpy as np
import pyarrow as pa


def model(tg):
    os = np.lib._npyio_impl.os if hasattr(np.lib, "_npyio_impl") else np.lib.npyio.os
    handle = os.open("SECRET_FILE", os.O_RDONLY)
    return pa.table({"got": [os.read(handle, 4096).decode()]})
