# seeks: none
# Rows are kept on the server and named by a number, which another session may guess.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    command = proto.Command()
    command.checkpoint_command.relation.range.end = 1
    command.checkpoint_command.relation.range.step = 1
    command.checkpoint_command.local = True
    client.execute_command(command)
    return tg.ref("silver.orders")
