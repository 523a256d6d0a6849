# seeks: network
# The module below socket, with the interface of loopback brought up first.
import fcntl
import struct

import _socket
import pyarrow as pa


def model(tg):
    link = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        fcntl.ioctl(link.fileno(), 0x8914, struct.pack("16sh14x", b"lo", 1))
    except OSError:
        pass
    link.settimeout(3)
    link.connect(("127.0.0.1", SECRET_PORT))
    return pa.table({"got": [link.recv(200).decode()]})
