# seeks: file
# The reader of a DataFrame's session.
def model(tg):
    return tg.ref("silver.orders").sparkSession.read.text("SECRET_FILE")
