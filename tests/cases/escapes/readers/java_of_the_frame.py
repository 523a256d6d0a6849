# seeks: environment
# A classic DataFrame holds its Java object, and that its gateway.
def model(tg):
    frame = tg.ref("silver.orders")
    raise ValueError(frame._sc._jvm.java.lang.System.getenv("SECRET_VARIABLE"))
