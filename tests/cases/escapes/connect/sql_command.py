# seeks: table
# A command that is a statement.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    command = proto.Command()
    command.sql_command.sql = "DROP TABLE main.shop.SECRET_TABLE"
    command.sql_command.input.sql.query = "DROP TABLE main.shop.SECRET_TABLE"
    client.execute_command(command)
    return tg.ref("silver.orders")
