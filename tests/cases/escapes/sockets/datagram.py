# seeks: network
# A datagram needs no connection.
import socket

import pyarrow as pa


def model(tg):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(2)
        link.sendto(b"give", ("127.0.0.1", SECRET_PORT))
        return pa.table({"got": [link.recv(200).decode()]})
