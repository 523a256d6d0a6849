# seeks: table
# Questions to the catalog are relations.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    plan.root.catalog.create_external_table.table_name = "x"
    plan.root.catalog.create_external_table.source = "parquet"
    plan.root.catalog.create_external_table.path = "SECRET_TABLE_FILES/data"
    return client.to_table(plan, {})[0]
