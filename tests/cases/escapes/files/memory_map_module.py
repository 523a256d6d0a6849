# seeks: file
# The mapping of the standard library.
import mmap
import os

import pyarrow as pa


def model(tg):
    handle = os.open("SECRET_FILE", os.O_RDONLY)
    return pa.table({"got": [mmap.mmap(handle, 0, prot=mmap.PROT_READ)[:].decode()]})
