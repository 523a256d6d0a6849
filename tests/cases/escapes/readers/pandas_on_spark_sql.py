# seeks: table
# And queries.
import pyspark.pandas as ps


def model(tg):
    return ps.sql("SELECT * FROM SECRET_TABLE").to_pandas()
