# seeks: environment
# The C library keeps an environment of its own, whatever Python's os.environ says.
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_char_p
    return pa.table({"got": [str(libc.getenv(b"SECRET_VARIABLE"))]})
