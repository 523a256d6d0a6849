# seeks: network
# The same address in the other family.
import socket

import pyarrow as pa


def model(tg):
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as link:
        link.settimeout(3)
        link.connect(("::ffff:127.0.0.1", SECRET_PORT))
        return pa.table({"got": [link.recv(200).decode()]})
