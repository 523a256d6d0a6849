# seeks: environment
# What the settings of the project replace is read again by Tidegate itself.
# check: accepts
import pyarrow as pa


def model(tg):
    return pa.table({"got": [str(tg.var("x", "${SECRET_VARIABLE}")), str(tg.var("SECRET_VARIABLE", "nothing"))]})
