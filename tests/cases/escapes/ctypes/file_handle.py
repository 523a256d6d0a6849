# seeks: file
# A handle of the file system opens a file by its inode, past the names that are walled off.
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    handle = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(132), 136)
    mount = ctypes.c_int()
    asked = libc.name_to_handle_at(-100, b"SECRET_FILE", handle, ctypes.byref(mount), 0)
    opened = libc.open_by_handle_at(libc.open(b"/", 0o200000), handle, 0)
    text = ctypes.create_string_buffer(4096)
    libc.read(opened, text, 4095)
    return pa.table({"got": [f"{asked} {opened} {text.value.decode()}"]})
