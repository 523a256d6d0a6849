# seeks: file
# A plan by hand: a data source with a path.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    plan.root.read.data_source.format = "text"
    plan.root.read.data_source.paths.append("SECRET_FILE")
    return client.to_table(plan, {})[0]
