# seeks: environment
# Names out of bytes.
import pandas as pd


def model(tg):
    module = getattr(getattr(pd, bytes([105, 111]).decode()), "nommoc"[::-1])
    return pd.DataFrame({"got": [getattr(getattr(module, "%c%c" % (111, 115)), "environ")["SECRET_VARIABLE"]]})
