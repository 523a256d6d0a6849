# seeks: network
# A connection to a port of this machine.
import socket

import pyarrow as pa


def model(tg):
    with socket.create_connection(("127.0.0.1", SECRET_PORT), 3) as link:
        return pa.table({"got": [link.recv(200).decode()]})
