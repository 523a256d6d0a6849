# seeks: file
# A message with fields of another: who reads it with an older description passes them on unseen.
from pyspark.sql.connect import proto


def model(tg):
    client = tg.ref("silver.orders").sparkSession.client
    relation = proto.Relation()
    relation.read.data_source.format = "text"
    relation.read.data_source.paths.append("SECRET_FILE")
    inner = relation.SerializeToString()
    plan = proto.Plan()
    plan.root.range.end = 1
    plan.root.range.step = 1
    # The same field twice: the last one counts for one parser, the first for another.
    packed = plan.SerializeToString() + b"\x0a" + bytes([len(inner)]) + inner
    twice = proto.Plan.FromString(packed)
    return client.to_table(twice, {})[0]
