# seeks: file
# The reader under another name, and in a list of functions.
import pandas as pd


def model(tg):
    readers = [getattr(pd, name) for name in dir(pd) if name.endswith("_fwf")]
    return readers[0]("SECRET_FILE", header=None, names=["got"])
