# seeks: network
# Hadoop reads http addresses as files.
def model(tg):
    return tg.ref("silver.orders").sparkSession.read.text("http://127.0.0.1:SECRET_PORT/x")
