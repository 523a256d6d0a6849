# seeks: file
# A plan that is only analysed reads, too: the schema of a file with a header is its first line.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    request = proto.AnalyzePlanRequest(session_id=client._session_id)
    read = getattr(request, "schema").plan.root.read.data_source
    read.format = "csv"
    read.options["header"] = "true"
    read.paths.append("SECRET_FILE")
    raise ValueError(str(client._stub.AnalyzePlan(request)))
