# seeks: parent
# A result of a kind that is not asked for, whose value is deep, huge or no number.
import socket
import struct


def model(tg):
    header = b'{"kind": "value", "value": ' + b"[" * 900 + b"NaN, 1e999, " + b"9" * 5000 + b"]" * 900 + b"}"
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            link.sendall(struct.pack("!BIQ", 8, len(header), 0) + header)
            link.detach()
        except OSError:
            pass
