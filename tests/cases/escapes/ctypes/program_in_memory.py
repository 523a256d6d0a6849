# seeks: file
# A file in memory is executed, a program that no folder holds; here a copy of cat.
import ctypes

import pyarrow as pa


def model(tg):
    libc = ctypes.CDLL(None, use_errno=True)
    program = libc.memfd_create(b"x", 0)
    source = libc.open(b"/bin/cat", 0)
    libc.sendfile(program, source, None, 1 << 24)
    read, write = (ctypes.c_int * 2)(), None
    libc.pipe(read)
    if libc.fork() == 0:
        libc.dup2(read[1], 1)
        arguments = (ctypes.c_char_p * 3)(b"cat", b"SECRET_FILE", None)
        libc.fexecve(program, arguments, (ctypes.c_char_p * 1)(None))
        libc._exit(1)
    libc.close(read[1])
    text = ctypes.create_string_buffer(4096)
    libc.read(read[0], text, 4095)
    return pa.table({"got": [text.value.decode()]})
