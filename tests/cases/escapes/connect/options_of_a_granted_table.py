# seeks: table
# The granted table with options of the reader: another branch, a path, a scan of other files.
from pyspark.sql.connect import proto


def model(tg):
    orders = tg.ref("silver.orders")
    plan = proto.Plan()
    plan.root.CopyFrom(orders._plan.to_proto(orders.sparkSession.client).root)
    plan.root.read.named_table.options["path"] = "SECRET_TABLE_FILES"
    plan.root.read.named_table.options["branch"] = "main"
    return orders.sparkSession.client.to_table(plan, {})[0]
