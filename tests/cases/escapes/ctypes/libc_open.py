# seeks: file
# The C library opens the file, past all of Python.
# sample: yes
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None)
    text = ctypes.create_string_buffer(4096)
    handle = libc.open(b"SECRET_FILE", 0)
    libc.read(handle, text, 4095)
    return pa.table({"got": [text.value.decode()]})
