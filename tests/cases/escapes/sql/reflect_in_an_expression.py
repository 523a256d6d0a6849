# seeks: environment
# The same in an expression of a DataFrame, in capitals and between backticks.
from pyspark.sql import functions as F


def model(tg):
    return tg.ref("silver.orders").select(F.expr("`REFLECT`('java.lang.System', 'getenv', 'SECRET_VARIABLE') AS got"))
