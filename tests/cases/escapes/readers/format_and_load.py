# seeks: file
# The reader, its format and its path as options.
def model(tg):
    reader = tg.ref("silver.orders").sparkSession.read
    return reader.format("binaryFile").option("path", "SECRET_FILE").load().selectExpr("CAST(content AS STRING) AS got")
