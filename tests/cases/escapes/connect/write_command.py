# seeks: write
# A command that writes to a path.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    command = proto.Command()
    command.write_operation.input.range.end = 1
    command.write_operation.input.range.step = 1
    command.write_operation.source = "csv"
    command.write_operation.path = "OUTSIDE_FILE"
    command.write_operation.mode = 2
    client.execute_command(command)
    return tg.ref("silver.orders")
