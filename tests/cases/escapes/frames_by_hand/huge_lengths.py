# seeks: parent
# A frame that says it is longer than any memory.
import socket
import struct


def model(tg):
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            link.sendall(struct.pack("!BIQ", 2, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF) + b"{}" * 1000)
        except OSError:
            pass
