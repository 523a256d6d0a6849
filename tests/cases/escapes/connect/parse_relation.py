# seeks: file
# A relation that parses texts, with options that name files.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    plan.root.parse.input.sql.query = "SELECT '<a>b</a>' AS value"
    plan.root.parse.format = 2
    plan.root.parse.options["rowValidationXSDPath"] = "SECRET_FILE"
    plan.root.parse.options["rowTag"] = "a"
    return client.to_table(plan, {})[0]
