# seeks: none
# Calls without end, whose replies it never takes: whoever answers must not wait for ever.
import json
import socket
import struct

from pyspark.sql.connect import proto


def model(tg):
    request = proto.ExecutePlanRequest(session_id="x")
    request.plan.root.range.end = 1 << 40
    request.plan.root.range.step = 1
    body, header = request.SerializeToString(), json.dumps({"method": "ExecutePlan"}).encode()
    while True:
        for number in range(3, 64):
            try:
                link = socket.socket(fileno=number)
                link.sendall(struct.pack("!BIQ", 2, len(header), len(body)) + header + body)
                link.detach()
            except OSError:
                pass
