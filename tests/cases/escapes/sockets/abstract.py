# seeks: network
# A socket without a file, that no wall of files stops.
# sample: yes
import socket

import pyarrow as pa


def model(tg):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(3)
        link.connect("\0ABSTRACT_SOCKET")
        return pa.table({"got": [link.recv(200).decode()]})
