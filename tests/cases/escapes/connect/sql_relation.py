# seeks: file
# A relation that is a text, with arguments at their places.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    plan.root.sql.query = "SELECT * FROM IDENTIFIER(?)"
    plan.root.sql.pos_arguments.add().literal.string = "text.`SECRET_FILE`"
    return client.to_table(plan, {})[0]
