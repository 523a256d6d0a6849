# seeks: none
# A port that it listens on, for somebody to connect to.
import socket

import pyarrow as pa


def model(tg):
    with socket.socket() as link:
        link.bind(("0.0.0.0", 0))
        link.listen()
        return pa.table({"got": [str(link.getsockname())]})
