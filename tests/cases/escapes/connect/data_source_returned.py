# seeks: file
# The same, not asked for but handed back as the result.
from pyspark.sql.connect import proto
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.plan import LogicalPlan


class ByHand(LogicalPlan):
    def plan(self, session):
        relation = proto.Relation()
        relation.read.data_source.format = "text"
        relation.read.data_source.paths.append("SECRET_FILE")
        return relation


def model(tg):
    return DataFrame(ByHand(None), tg.ref("silver.orders").sparkSession)
