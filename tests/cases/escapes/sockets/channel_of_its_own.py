# seeks: network
# gRPC is loaded in the process, as the Connect client needs it.
import grpc
import pyarrow as pa


def model(tg):
    channel = grpc.insecure_channel("127.0.0.1:SECRET_PORT")
    reply = channel.unary_unary("/x/y", lambda x: x, lambda x: x)(b"x", timeout=3)
    return pa.table({"got": [str(reply)]})
