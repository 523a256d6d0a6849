# seeks: write
# A stream is begun by a command.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    command = proto.Command()
    start = command.write_stream_operation_start
    start.input.read.is_streaming = True
    start.input.read.data_source.format = "rate"
    start.format = "csv"
    start.path = "OUTSIDE_FILE"
    start.options["checkpointLocation"] = "OUTSIDE_FILE.c"
    client.execute_command(command)
    return tg.ref("silver.orders")
