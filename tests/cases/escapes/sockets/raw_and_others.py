# seeks: none
# Families of sockets that nobody thinks of.
import socket

import pyarrow as pa


def model(tg):
    said = []
    for family, kind, protocol in ((16, 3, 0), (17, 3, 768), (2, 3, 1), (38, 5, 0), (40, 1, 0), (1, 5, 0), (43, 1, 0)):
        try:
            socket.socket(family, kind, protocol).close()
            said.append(f"{family}: given")
        except OSError as error:
            said.append(f"{family}: {error.errno}")
    return pa.table({"got": said})
