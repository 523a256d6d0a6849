# seeks: table
# The results of an execution by its number.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    request = proto.ReattachExecuteRequest(session_id=client._session_id)
    request.operation_id = "00000000-0000-0000-0000-000000000001"
    raise ValueError(str(list(client._stub.ReattachExecute(request))))
