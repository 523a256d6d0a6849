# seeks: file
# numpy has imported ctypes, and loads libraries.
import numpy as np
import pyarrow as pa


def model(tg):
    ctypes = np.ctypeslib.ctypes
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    text = ctypes.create_string_buffer(4096)
    libc.fgets(text, 4095, ctypes.c_void_p(libc.fopen(b"SECRET_FILE", b"r")))
    return pa.table({"got": [text.value.decode()]})
