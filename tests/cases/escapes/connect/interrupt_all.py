# seeks: none
# Interrupts everything of the session, which is the model's own at most.
def model(tg):
    session = tg.ref("silver.orders").sparkSession
    session.interruptAll()
    return tg.ref("silver.orders")
