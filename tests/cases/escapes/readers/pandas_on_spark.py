# seeks: file
# pandas on Spark reads files through the active session.
import pyspark.pandas as ps


def model(tg):
    return ps.read_csv("SECRET_FILE", header=None).to_pandas()
