# seeks: none
# The kernel's keyring of the session may hold keys of whoever started Tidegate.
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    return pa.table({"got": [f"{libc.syscall(250, 0, -3, 1)} {ctypes.get_errno()}"]})
