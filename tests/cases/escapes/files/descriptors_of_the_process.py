# seeks: file
# What was open when it was forked.
import os

import pyarrow as pa


def model(tg):
    got = []
    for number in range(3, 256):
        try:
            got.append(os.readlink(f"/proc/self/fd/{number}"))
            if got[-1].startswith("/"):
                got.append(str(os.pread(number, 1000, 0)))
        except OSError:
            pass
    return pa.table({"got": got or ["nothing"]})
