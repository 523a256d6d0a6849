# seeks: environment
# An expression that is a text, deep in a plan.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    sort = plan.root.sort
    sort.input.project.input.range.end = 1
    sort.input.project.input.range.step = 1
    text = sort.input.project.expressions.add().expression_string
    text.expression = "java_method('java.lang.System', 'getenv', 'SECRET_VARIABLE')"
    return client.to_table(plan, {})[0]
