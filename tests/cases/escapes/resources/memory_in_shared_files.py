# seeks: none
# Memory that belongs to no process: files in memory.
import os

import pyarrow as pa


def model(tg):
    held = []
    for _ in range(40):
        held.append(os.memfd_create("x"))
        for _ in range(4):
            os.write(held[-1], bytes(1 << 24))
    return pa.table({"got": [len(held)]})
