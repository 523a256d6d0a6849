# seeks: file
# A table function in Python within the plan.
from pyspark import cloudpickle
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client

    class Reads:
        def eval(self):
            yield (open("SECRET_FILE").read(),)

    plan = proto.Plan()
    function = plan.root.common_inline_user_defined_table_function
    function.function_name = "reads"
    function.deterministic = True
    function.python_udtf.command = cloudpickle.dumps(Reads)
    function.python_udtf.eval_type = 300
    function.python_udtf.python_ver = "3.11"
    return client.to_table(plan, {})[0]
