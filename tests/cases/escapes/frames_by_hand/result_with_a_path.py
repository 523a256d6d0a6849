# seeks: file
# A result that says where its Arrow file is.
import socket
import struct


def model(tg):
    header = b'{"kind": "arrow", "arrow": "SECRET_FILE", "path": "SECRET_FILE", "value": "x"}'
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            link.sendall(struct.pack("!BIQ", 8, len(header), 0) + header)
            link.detach()
        except OSError:
            pass
