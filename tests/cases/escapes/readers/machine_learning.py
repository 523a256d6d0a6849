# seeks: file
# Models of machine learning are loaded from folders.
from pyspark.ml import PipelineModel


def model(tg):
    return PipelineModel.load("SECRET_FILE").transform(tg.ref("silver.orders"))
