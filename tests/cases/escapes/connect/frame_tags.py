# seeks: none
# Tags and numbers of an operation end up in the server's logs and pages.
def model(tg):
    session = tg.ref("silver.orders").sparkSession
    session.addTag("<script>alert(1)</script>")
    return tg.ref("silver.orders")
