# seeks: none
# Rows that another session has uploaded, by their hash.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    plan.root.cached_local_relation.hash = "0" * 64
    return client.to_table(plan, {})[0]
