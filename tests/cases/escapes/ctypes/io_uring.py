# seeks: file
# A ring of requests opens files without the system calls that a filter sees.
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    setup = ctypes.create_string_buffer(120)
    ring = libc.syscall(425, 8, setup)
    if ring >= 0:
        # Whether a ring is given at all is what is asked here: with one, everything else follows.
        raise ValueError("a ring was given: " + open("SECRET_FILE").read())
    return pa.table({"got": [f"no ring: {ctypes.get_errno()}"]})
