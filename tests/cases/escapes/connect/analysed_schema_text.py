# seeks: none
# Parsing a schema, listing files of an input and versions by analysis.
from pyspark.sql.connect import proto


def model(tg):
    orders = tg.ref("silver.orders")
    client = orders.sparkSession.client
    request = proto.AnalyzePlanRequest(session_id=client._session_id)
    request.input_files.plan.CopyFrom(orders._plan.to_proto(client))
    raise ValueError(str(client._stub.AnalyzePlan(request)))
