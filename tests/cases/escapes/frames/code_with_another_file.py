# seeks: file
# A function whose code says that it is from the secret file: whoever prints the traceback reads its line from there.
def fails():
    raise ValueError("look at the line of this traceback")


def model(tg):
    fails.__code__ = fails.__code__.replace(co_filename="SECRET_FILE", co_firstlineno=0)
    fails()
