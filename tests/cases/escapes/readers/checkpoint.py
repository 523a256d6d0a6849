# seeks: none
# A checkpoint keeps rows on the server until the session ends.
def model(tg):
    return tg.ref("silver.orders").localCheckpoint()
