# seeks: parent
# The signal at the end of the parent is switched off.
import ctypes
import os
import time

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None)
    libc.prctl(1, 0, 0, 0, 0)
    if os.fork() == 0:
        libc.prctl(1, 0, 0, 0, 0)
        libc.prctl(15, b"LEFT_BEHIND", 0, 0, 0)
        os.setsid()
        time.sleep(120)
        os._exit(0)
    return pa.table({"got": ["left"]})
