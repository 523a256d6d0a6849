# seeks: file
# A plan that is packed: what is in it is seen only by the server.
import zstandard
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    relation = proto.Relation()
    relation.read.data_source.format = "text"
    relation.read.data_source.paths.append("SECRET_FILE")
    plan = proto.Plan()
    plan.compressed_operation.data = zstandard.ZstdCompressor().compress(relation.SerializeToString())
    plan.compressed_operation.op_type = 1
    plan.compressed_operation.compression_codec = 1
    return client.to_table(plan, {})[0]
