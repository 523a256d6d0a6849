# seeks: file
# A data source in Python within the plan.
from pyspark import cloudpickle
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    plan = proto.Plan()
    source = plan.root.common_inline_user_defined_data_source
    source.name = "x"
    source.python_data_source.command = cloudpickle.dumps(lambda: open("SECRET_FILE").read())
    source.python_data_source.python_ver = "3.11"
    return client.to_table(plan, {})[0]
