# seeks: table
# A view in the place of another model's.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    command = proto.Command()
    command.create_dataframe_view.input.sql.query = "SELECT * FROM main.shop.SECRET_TABLE"
    command.create_dataframe_view.name = "x"
    command.create_dataframe_view.is_global = True
    client.execute_command(command)
    plan = proto.Plan()
    plan.root.read.named_table.unparsed_identifier = "global_temp.x"
    return client.to_table(plan, {})[0]
