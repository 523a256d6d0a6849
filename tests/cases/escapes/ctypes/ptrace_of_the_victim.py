# seeks: parent
# Attached by ptrace, a process stands still until it is released, and is killed with its tracer.
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    attached = libc.ptrace(16, VICTIM_PID, 0, 0)
    if attached == 0:
        libc.kill(VICTIM_PID, 9)
    return pa.table({"got": [f"{attached} {ctypes.get_errno()}"]})
