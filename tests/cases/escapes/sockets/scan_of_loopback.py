# seeks: network
# The kernel lists who listens; each is asked.
import socket

import pyarrow as pa


def model(tg):
    got = []
    for line in open("/proc/net/tcp").read().splitlines()[1:]:
        address, state = line.split()[1], line.split()[3]
        if state == "0A" and int(address.split(":")[1], 16) in (SECRET_PORT, CONNECT_PORT):
            with socket.create_connection(("127.0.0.1", int(address.split(":")[1], 16)), 2) as link:
                link.settimeout(1)
                got.append(str(link.recv(200)))
    return pa.table({"got": got or ["nothing"]})
