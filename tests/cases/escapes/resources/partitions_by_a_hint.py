# seeks: none
# More tasks than Spark's driver can hold, asked for by a hint whose number is a text.
# check: accepts
from pyspark.sql import functions as F


def model(tg):
    return tg.ref("silver.orders").hint("repartition", F.expr("(2147483647)"))
