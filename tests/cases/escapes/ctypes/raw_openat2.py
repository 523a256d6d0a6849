# seeks: file
# A system call by its number that filters written for open and openat may have forgotten.
import ctypes
import struct

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    how = struct.pack("QQQ", 0, 0, 0)
    handle = libc.syscall(437, -100, b"SECRET_FILE", how, len(how))
    text = ctypes.create_string_buffer(4096)
    libc.read(handle, text, 4095)
    return pa.table({"got": [text.value.decode()]})
