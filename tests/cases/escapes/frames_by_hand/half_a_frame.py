# seeks: none
# Half a frame, and then nothing: whoever reads it waits for the rest.
import socket
import struct
import time


def model(tg):
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            link.sendall(struct.pack("!BIQ", 6, 100, 100) + b"{")
            link.detach()
        except OSError:
            pass
    time.sleep(300)
