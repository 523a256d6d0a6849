# seeks: network
# A socket in the file system.
import socket

import pyarrow as pa


def model(tg):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(3)
        link.connect("SECRET_SOCKET")
        return pa.table({"got": [link.recv(200).decode()]})
