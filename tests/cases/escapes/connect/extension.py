# seeks: file
# A relation of any kind, for plugins of the server.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    relation = proto.Relation()
    relation.read.data_source.format = "text"
    relation.read.data_source.paths.append("SECRET_FILE")
    plan = proto.Plan()
    plan.root.extension.Pack(relation)
    return client.to_table(plan, {})[0]
