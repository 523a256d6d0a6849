# seeks: table
# The reader reads tables, too, with options.
def model(tg):
    session = tg.ref("silver.orders").sparkSession
    return session.read.option("branch", "main").table("main.shop.SECRET_TABLE")
