# seeks: file
# The module below io.
import _io

import pyarrow as pa


def model(tg):
    return pa.table({"got": [_io.FileIO("SECRET_FILE").read().decode()]})
