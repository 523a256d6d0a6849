# seeks: environment
# Within a function, a condition and an attempt.
import pyarrow as pa


def model(tg):
    try:
        if tg:
            from os import environ as names
    except ImportError:
        names = {}
    return pa.table({"got": [names["SECRET_VARIABLE"]]})
