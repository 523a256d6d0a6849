# seeks: parent
# A kind that there is not, one for the child only, and a header that is no text.
import socket
import struct


def model(tg):
    for kind, header in ((200, b"{}"), (1, b"{}"), (3, b"{}"), (6, b"\xff\xfe"), (6, b"[]"), (6, b'{"message": {}}')):
        for number in range(3, 64):
            try:
                link = socket.socket(fileno=number)
                link.sendall(struct.pack("!BIQ", kind, len(header), 0) + header)
                link.detach()
            except OSError:
                pass
