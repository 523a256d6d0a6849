# seeks: network
# Two groups at once; a datagram instead of a connection.
import pandas as pd


def reads(left, right):
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(2)
        link.sendto(b"give", ("127.0.0.1", SECRET_PORT))
        return pd.DataFrame({"got": [link.recv(200).decode()]})


def model(tg):
    orders = tg.ref("silver.orders").groupBy("id")
    return orders.cogroup(orders).applyInPandas(reads, "got string")
